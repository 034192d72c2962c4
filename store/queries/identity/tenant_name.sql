-- The name of a tenant.
select name
  from tenant
 where tenant_id = %(tenant_id)s::bigint;
