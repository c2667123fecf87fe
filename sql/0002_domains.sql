create table domains (
  id          bigint generated always as identity primary key,
  project_id  bigint not null references projects,
  hostname    text collate "C" not null,
  metadata    text not null default '{}', -- text, not jsonb: it comes back exactly as sent
  version     bigint not null default nextval('versions'),
  created_at  timestamptz not null default date_trunc('milliseconds', now()),
  verified_at timestamptz,
  deleted_at  timestamptz
);

-- Who holds a hostname: this index alone decides it.
create unique index domain_hostname_live on domains (hostname) where deleted_at is null;
create index domain_project_live on domains (project_id, created_at, hostname) where deleted_at is null;
create index domain_released on domains (hostname, deleted_at) where deleted_at is not null;

-- Apart from domains, because it is written every few minutes and they are not.
create table probes (
  domain_id     bigint primary key references domains,
  next_probe_at timestamptz default now(),
  claimed_at    timestamptz not null default '-infinity',
  watched_until timestamptz not null default '-infinity',
  checked_at    timestamptz,
  state         text not null default 'unknown',
  report        json, -- not jsonb, which refuses the NUL that a TXT record may hold
  failures      integer not null default 0,
  proof_needed  boolean -- as the edges were last told; null: as it was at the claim
) with (fillfactor = 80);

create index probe_due on probes (next_probe_at) where next_probe_at is not null;
