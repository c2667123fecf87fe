-- As in 0018, but the wildcard over a name is looked for by its family, and by no other index. A connection keeps the plan that was made while the
-- table was empty, when all indexes seem alike: one that has the hostname as its last column was read from end to end for each claim. The indexes of
-- what is live serve a query only that says so in their own words.
create or replace function claim_in_the_way(project bigint, wanted text) returns text stable language plpgsql as $$
declare
  found text;
begin
  if starts_with(wanted, '*.') then
    select other.hostname into found from domains other
    where substr(other.hostname, strpos(other.hostname, '.') + 1) = substr(wanted, 3) and not starts_with(other.hostname, '*.')
      and other.deleted_at is null and other.project_id <> project and claim_counts(other) limit 1;
  else
    select other.hostname into found from domains other
    where substr(other.hostname, strpos(other.hostname, '.') + 1) = substr(wanted, strpos(wanted, '.') + 1)
      and other.hostname = '*' || substr(wanted, strpos(wanted, '.'))
      and coalesce(other.deleted_at, 'infinity') = 'infinity' and other.project_id <> project and claim_counts(other);
  end if;
  return found;
end
$$;
