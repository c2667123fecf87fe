-- When the check began whose report is stored: one that began before it, and ends after it, has nothing new to say.
alter table probes add column begun_at timestamptz;

-- Checks that found nothing out wait in a line of their own: a zone that does not answer takes seconds of whoever looks at it. The index that these stand
-- beside stays: to drop it would lock claims while they are made.
create index probe_due_answered on probes (next_probe_at) where failures = 0;
create index probe_due_unanswered on probes (next_probe_at) where failures > 0;
