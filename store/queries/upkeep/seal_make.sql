-- Return the key of the seals, and make it first if there is none. For maintenance.
with made as (
  insert into seal (inner_key, outer_key)
  values (%(inner_key)s::bytea, %(outer_key)s::bytea)
  on conflict (is_only) do nothing
  returning inner_key, outer_key
)
select inner_key, outer_key from made
union all
select inner_key, outer_key from seal;
