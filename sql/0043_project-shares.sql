-- Whom an order's place among the workers' counts for. As in 0042 but for the flags.
do $$
begin
  execute format($create$
    create or replace function ask_for_certificate(wanted text) returns void language plpgsql
    security definer set search_path = pg_catalog, %I, pg_temp as $body$
declare
  owner bigint := (select project_id from domains where hostname = wanted and deleted_at is null);
begin
  -- The worker looks again before it orders anything: back-off, limits and proofs are its business.
  if owner is not null or exists (select from certificates where hostname = wanted and project_id is null) then
    perform graphile_worker.add_job('issue', json_build_object('hostname', wanted), max_attempts => 3, job_key => 'issue:' || wanted,
      job_key_mode => 'preserve_run_at', flags => case when owner is not null then array['project:' || owner] end);
  end if;
end
$body$ $create$, current_schema());
end $$;
