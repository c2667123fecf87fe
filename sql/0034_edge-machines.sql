-- What an edge machine does beyond reading its columns (src/core/edge-role.ts): each function is one wish, and decides by itself whether it may be granted.
do $$
declare
  safely text := format('security definer set search_path = pg_catalog, %I, pg_temp', current_schema());
begin
  execute format($create$
    create function ask_for_certificate(wanted text) returns void language plpgsql %s as $body$
begin
  -- The worker looks again before it orders anything: back-off, limits and proofs are its business.
  if exists (select from domains where hostname = wanted and deleted_at is null)
    or exists (select from certificates where hostname = wanted and project_id is null) then
    perform graphile_worker.add_job('issue', json_build_object('hostname', wanted), max_attempts => 3, job_key => 'issue:' || wanted);
  end if;
end
$body$ $create$, safely);

  execute format($create$
    create function ask_for_probe(wanted text) returns void language sql %s as $body$
  -- At once, but not within ten seconds of the last check.
  update probes p set next_probe_at = greatest(now(), p.claimed_at + interval '10 seconds') from domains d
  where d.id = p.domain_id and d.hostname = wanted and d.deleted_at is null and d.verified_at is null
    and p.next_probe_at > greatest(now(), p.claimed_at + interval '10 seconds');
$body$ $create$, safely);

  execute format($create$
    create function edge_setting(wanted text) returns bytea language sql stable %s as $body$
  select value from settings where name = wanted and name in ('thumbprint', 'ticket-keys');
$body$ $create$, safely);
end $$;

revoke execute on function ask_for_certificate(text), ask_for_probe(text), edge_setting(text) from public;
