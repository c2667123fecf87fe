-- Entries get their ids before their transactions commit: by its id, one that commits late is behind what was read already. By the transaction it
-- is told from those that a reader's last snapshot held. Entries of before have none, and nobody waits for them.
alter table activity add column xid xid8;
alter table activity alter column xid set default pg_current_xact_id();
create index activity_xid on activity (xid) where xid is not null;
