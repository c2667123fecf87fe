-- Who did what to a project, written in the transaction of the change itself.
create table activity (
  id         bigint generated always as identity primary key,
  project_id bigint not null references projects,
  at         timestamptz not null default date_trunc('milliseconds', now()),
  actor      jsonb not null, -- {"kind":"user","email":…}, {"kind":"token","id":…} or {"kind":"operator"}
  action     text not null,
  subject    text not null,
  detail     jsonb not null default '{}'
);

create index activity_project on activity (project_id, id);
