-- Orders that an authority has opened and whose certificate is not stored yet, with the key that it will be for: whoever comes after a
-- crash goes on with them.
create table orders_under_way (
  hostname   text collate "C" not null,
  directory  text collate "C" not null,
  project_id bigint, -- null: a host of the service itself
  order_url  text not null,
  sealed_key bytea not null,
  order_id   bigint, -- its entry in issuance_orders, for as long as that is kept; null where nothing is counted
  expires_at timestamptz not null,
  primary key (hostname, directory)
);

create index order_under_way_expiry on orders_under_way (expires_at);
