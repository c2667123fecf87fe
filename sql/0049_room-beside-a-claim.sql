-- A claim that had to wait for the removal of the very name was let through by the trigger of 0018, which leaves a name that is held to the unique index:
-- so another project's wildcard over it, or a name under it, is looked for once more when the row is there. The trigger before has taken the family's lock.
create function require_room_beside() returns trigger volatile language plpgsql as $$
declare
  found text := claim_in_the_way(new.project_id, new.hostname);
begin
  if found is not null then
    raise exception using errcode = 'exclusion_violation', constraint = 'domain_family_room', message = found;
  end if;
  return null;
end
$$;

create trigger domain_room_beside after insert on domains for each row execute function require_room_beside();
