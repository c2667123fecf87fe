-- What each ACME directory has been asked for, for as long as one of its limits counts it.
create table issuance_orders (
  id                bigint generated always as identity primary key,
  directory         text collate "C" not null,
  hostname          text collate "C" not null,
  registered_domain text collate "C" not null,
  project_id        bigint, -- null: a host of the service itself
  renewal           boolean not null,
  exempt            boolean not null, -- a renewal that the directory itself asked for (ARI): its limits do not count it
  outcome           text not null default 'under-way'
    constraint issuance_outcome check (outcome in ('under-way', 'issued', 'invalid', 'refused')),
  counted_at        timestamptz not null -- when it ended; of one under way, when it has ended at the latest
);

create index issuance_order_account on issuance_orders (directory, counted_at);
create index issuance_order_domain on issuance_orders (directory, registered_domain, counted_at);
create index issuance_order_hostname on issuance_orders (directory, hostname, counted_at);

-- What a directory itself has refused, until when: it knows of orders that this ledger does not.
create table issuance_blocks (
  directory text collate "C" not null,
  scope     text not null constraint issuance_block_scope check (scope in ('account', 'domain', 'names', 'failures')),
  key       text collate "C" not null,
  until     timestamptz not null,
  detail    text not null,
  primary key (directory, scope, key)
);

-- What an operator has agreed with a directory for one registered domain.
create table issuance_exceptions (
  directory         text collate "C" not null,
  registered_domain text collate "C" not null,
  certificates      integer not null constraint issuance_exception_positive check (certificates > 0), -- instead of the directory's own limit
  note              text not null default '',
  created_at        timestamptz not null default date_trunc('milliseconds', now()),
  primary key (directory, registered_domain)
);

-- Null: no limit held the last attempt back.
alter table certificates
  add column postponed_until timestamptz,
  add column postponed_reason text,
  add column postponed_by text constraint certificate_postponed_by check (postponed_by in ('account', 'share', 'domain', 'names', 'failures'));

create index certificate_waiting on certificates (project_id) where chain_pem is null and next_attempt_at is not null;
