-- Whether a request of our own over HTTPS has come through to a hostname since its record is right: when, how often in a row not, and why.
alter table probes
  add column live_at timestamptz,
  add column live_tries integer not null default 0,
  add column live_sentence text;

-- What counted as live so far goes on doing so.
update probes p set live_at = now() from domains d join certificates c on c.hostname = d.hostname and c.project_id = d.project_id
  where d.id = p.domain_id and d.deleted_at is null and d.verified_at is not null and c.chain_pem is not null;
