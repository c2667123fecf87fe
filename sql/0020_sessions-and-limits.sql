-- A link is signed, so the token that opens it is nowhere in this database. Used or expired, it stays for a day.
create table sign_in_links (
  id         uuid primary key default gen_random_uuid(),
  email      text not null,
  expires_at timestamptz not null,
  used_at    timestamptz
);

create index sign_in_link_expiry on sign_in_links (expires_at);

create table sessions (
  id           bigint generated always as identity primary key,
  hash         bytea not null constraint session_hash_unique unique,
  email        text not null,
  signed_in_at timestamptz not null default date_trunc('milliseconds', now()),
  expires_at   timestamptz not null
);

create index session_email on sessions (email);
create index session_expiry on sessions (expires_at);

-- What a session may see at most: the memberships at its sign-in, and what it created since.
create table session_projects (
  session_id bigint not null references sessions on delete cascade,
  project_id bigint not null references projects,
  primary key (session_id, project_id)
);

create index session_project on session_projects (project_id);

alter table members add column joined_at timestamptz; -- at the first sign-in after the invitation

-- As rate-limiter-flexible has it. Unlogged: a crash may forget who has asked how often.
create unlogged table rate_limits (
  key    varchar(255) primary key,
  points integer not null default 0,
  expire bigint -- milliseconds since 1970
);
