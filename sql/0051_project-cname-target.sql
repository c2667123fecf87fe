-- The name of a vendor's own that its customers are told in place of the edge host, to which it leads itself; null: the edge host.
alter table projects
  add column cname_target text;
