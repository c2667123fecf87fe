-- How often in a row the look at a hostname was put off because an edge had not reached its change: the next one comes the later.
alter table probes add column live_waits integer not null default 0;
