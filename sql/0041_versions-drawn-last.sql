-- A claim that waited is newer than what its hostname went through meanwhile, and copies keep the newer of two rows: so it takes its version when
-- the waiting is over. As in 0018 but for that.
create or replace function require_room_in_family() returns trigger volatile language plpgsql as $$
declare
  family bigint := hashtextextended('family of ' || substr(new.hostname, strpos(new.hostname, '.') + 1), 0);
  found text;
begin
  if starts_with(new.hostname, '*.') then
    perform pg_advisory_xact_lock(family);
  else
    perform pg_advisory_xact_lock_shared(family);
  end if;
  found := claim_in_the_way(new.project_id, new.hostname);
  if found is not null and not exists (select from domains where hostname = new.hostname and deleted_at is null) then
    raise exception using errcode = 'exclusion_violation', constraint = 'domain_family_room', message = found;
  end if;
  new.version := nextval('versions');
  return new;
end
$$;
