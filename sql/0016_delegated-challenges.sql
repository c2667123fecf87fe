-- Whether the last look found _acme-challenge delegated to us: then certificates are issued by DNS-01, verified or not.
alter table probes add column delegated boolean not null default false;
