-- Let one transaction at a time look after a tenant.
select tenant_id
  from tenant
 where tenant_id = %(tenant_id)s::bigint
   for update;
