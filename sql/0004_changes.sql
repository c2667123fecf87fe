-- The feed. Sequence numbers are given out before commit, so a reader goes by (xid, seq) and only up to pg_snapshot_xmin.
create table changes (
  xid        xid8 not null default pg_current_xact_id(),
  seq        bigint generated always as identity,
  kind       text not null constraint change_kind check (kind in ('host', 'certificate', 'project', 'token', 'setting')),
  key        text not null,
  created_at timestamptz not null default now(),
  primary key (xid, seq)
);

-- One row: which life of the feed this is, and up to where it has been pruned.
create table feed (
  one        boolean primary key default true constraint feed_is_one_row check (one),
  life       uuid not null default gen_random_uuid(),
  pruned_xid xid8 not null default '0',
  pruned_seq bigint not null default 0
);
insert into feed default values;

create table settings (
  name       text primary key,
  value      bytea not null,
  updated_at timestamptz not null default now()
);
