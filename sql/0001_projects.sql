-- Everything that an edge copies carries a version from this one sequence: of two readings of a thing, the higher version is the newer.
create sequence versions;

create table projects (
  id          bigint generated always as identity primary key,
  name        text not null,
  slug        text not null constraint project_slug_unique unique,
  upstream_url text not null,
  plan        text not null,
  proof       text not null,
  version     bigint not null default nextval('versions'),
  created_at  timestamptz not null default date_trunc('milliseconds', now())
);

create table tokens (
  id           bigint generated always as identity primary key,
  project_id   bigint not null references projects,
  name         text not null,
  hash         bytea not null constraint token_hash_unique unique,
  created_at   timestamptz not null default date_trunc('milliseconds', now()),
  last_used_at timestamptz,
  revoked_at   timestamptz
);

create index token_project on tokens (project_id);
