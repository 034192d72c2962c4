-- The tenant of this name. No row when there is none.
select tenant_id
  from tenant
 where name = %(name)s::text;
