-- The worker processes that live, on the database's clock, so that what a dead one held is free within seconds. `steady_since`: without a
-- gap in its heartbeats, so that after an outage of the database nobody takes the others for dead.
create table workers (
  id           text collate "C" primary key, -- as the job queue calls it
  host         text not null,
  pid          integer not null,
  started_at   timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  steady_since timestamptz not null default now()
);

-- Whose the attempt under way is, and whose the probe.
alter table certificates add column leased_by text collate "C";
alter table probes add column claimed_by text collate "C";
