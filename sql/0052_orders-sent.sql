-- Whether the order may have left: one that has not is given back when its worker has died. The former release does not say so, so its orders may have.
alter table issuance_orders
  add column sent boolean not null default true;
