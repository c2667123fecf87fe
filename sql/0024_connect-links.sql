-- A page for the owner of one hostname. Signed, so the token that opens it is not here; it dies with the claim.
create table connect_links (
  id         uuid primary key default gen_random_uuid(),
  domain_id  bigint not null references domains,
  expires_at timestamptz not null
);

create index connect_link_domain on connect_links (domain_id);
create index connect_link_expiry on connect_links (expires_at);
