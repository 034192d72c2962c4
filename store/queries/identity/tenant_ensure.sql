-- The tenant of this name, made if need be.
with made as (
  insert into tenant (name)
  values (%(name)s::text)
  on conflict (name) do nothing
  returning tenant_id
)
select tenant_id from made
union all
select tenant_id from tenant where name = %(name)s::text
 limit 1;
