create table certificates (
  hostname        text collate "C" primary key,
  project_id      bigint references projects, -- null: a host of the service itself
  state           text not null default 'pending' constraint certificate_state check (state in ('pending', 'issued', 'failed')),
  chain_pem       text,
  sealed_key      bytea,
  issuer          text,
  serial          text,
  not_before      timestamptz,
  not_after       timestamptz,
  renew_at        timestamptz,
  attempts        integer not null default 0, -- since the last success
  last_attempt_at timestamptz,
  last_problem    json, -- null: the last attempt that ended was a success
  last_sentence   text,
  lease_until     timestamptz, -- an attempt is under way until then at most
  next_attempt_at timestamptz, -- when to try again, or to renew
  version         bigint not null default nextval('versions'),
  constraint certificate_complete check ((state = 'issued') = (chain_pem is not null) and (chain_pem is null) = (sealed_key is null))
);

create index certificate_due on certificates (next_attempt_at) where next_attempt_at is not null;
