-- Projects take turns in the account's line: whose hostnames stand in it, and in which order.
create index certificate_turns on certificates (waits_for, project_id, waits_since, hostname) where waits_for is not null;
