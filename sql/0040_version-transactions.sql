-- The transaction that gave a row its version: an edge that has come past it in the feed holds that version. xmin is the last one that wrote the row
-- at all, also for what no edge is told. Rows of before count as written by this transaction.
alter table domains add column xid xid8 not null default pg_current_xact_id();
alter table certificates add column xid xid8 not null default pg_current_xact_id();

create function set_version_xid() returns trigger language plpgsql as $$
begin
  new.xid := pg_current_xact_id();
  return new;
end
$$;

create trigger domain_version_xid before update of version on domains for each row execute function set_version_xid();
create trigger certificate_version_xid before update of version on certificates for each row execute function set_version_xid();
