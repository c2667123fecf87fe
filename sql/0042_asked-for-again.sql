-- A certificate that waits in the queue keeps its place, however often visitors and edges ask for it. As in 0034 but for the job key's mode.
do $$
begin
  execute format($create$
    create or replace function ask_for_certificate(wanted text) returns void language plpgsql
    security definer set search_path = pg_catalog, %I, pg_temp as $body$
begin
  -- The worker looks again before it orders anything: back-off, limits and proofs are its business.
  if exists (select from domains where hostname = wanted and deleted_at is null)
    or exists (select from certificates where hostname = wanted and project_id is null) then
    perform graphile_worker.add_job('issue', json_build_object('hostname', wanted), max_attempts => 3, job_key => 'issue:' || wanted,
      job_key_mode => 'preserve_run_at');
  end if;
end
$body$ $create$, current_schema());
end $$;
