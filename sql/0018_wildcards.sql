-- A claim may be a wildcard, `*.customer.com`. It and the names directly below the same domain are one family.
create index domain_family on domains (substr(hostname, strpos(hostname, '.') + 1), hostname);

-- Whether a live claim leaves others no room beside it: while it is verified, or younger than a day. Not the latter if the name was given up
-- unverified within the last 30 days, or claiming and removing in turn would hold for ever.
create function claim_counts(claim domains) returns boolean stable language sql as $$
  select claim.verified_at is not null or claim.created_at > now() - interval '1 day' and not exists (
    select from domains earlier where earlier.hostname = claim.hostname and earlier.verified_at is null
      and earlier.deleted_at > now() - interval '30 days')
$$;

-- Another project's claim that leaves no room for this one: the wildcard over it or, for a wildcard, a name under it.
create function claim_in_the_way(project bigint, wanted text) returns text stable language plpgsql as $$
declare
  found text;
begin
  if starts_with(wanted, '*.') then
    select other.hostname into found from domains other
    where substr(other.hostname, strpos(other.hostname, '.') + 1) = substr(wanted, 3) and not starts_with(other.hostname, '*.')
      and other.deleted_at is null and other.project_id <> project and claim_counts(other) limit 1;
  else
    select other.hostname into found from domains other
    where other.hostname = '*' || substr(wanted, strpos(wanted, '.'))
      and other.deleted_at is null and other.project_id <> project and claim_counts(other);
  end if;
  return found;
end
$$;

-- Claims of a wildcard wait for those of its family and they for it, but not these for each other. The look comes after the lock, with a
-- snapshot of its own (volatile), and so sees what was committed meanwhile. Whoever holds the very name already is left to the unique index.
create function require_room_in_family() returns trigger volatile language plpgsql as $$
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
  return new;
end
$$;

create trigger domain_family_room before insert on domains for each row execute function require_room_in_family();
