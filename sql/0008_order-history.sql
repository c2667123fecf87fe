-- What became of each hostname's last attempts; it goes with the certificate's row, and so never to another project.
create table order_history (
  id        bigint generated always as identity,
  hostname  text collate "C" not null references certificates on delete cascade,
  began_at  timestamptz not null default now(),
  ended_at  timestamptz,
  outcome   text not null default 'under-way'
    constraint order_outcome check (outcome in ('under-way', 'issued', 'failed', 'abandoned', 'imported')),
  renewing  boolean not null,
  issuer    text,
  serial    text,
  not_after timestamptz,
  problem   json, -- not jsonb, which refuses the NUL that an authority may quote
  sentence  text,
  primary key (hostname, id)
);
