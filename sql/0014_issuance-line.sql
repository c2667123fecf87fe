-- Hostnames that wait for the same room stand in line for it, and are let in one after the other.
alter table certificates
  add column waits_for   text collate "C", -- the directory, its limit and what that counts; null: nothing
  add column waits_since timestamptz;

create index certificate_line on certificates (waits_for, waits_since) where waits_for is not null;
