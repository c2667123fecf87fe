-- Who belongs to a project, by e-mail address in lower case; a person need not have signed in yet.
create table members (
  project_id bigint not null references projects,
  email      text not null,
  role       text not null constraint member_role check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default date_trunc('milliseconds', now()),
  primary key (project_id, email)
);

create index member_email on members (email);
