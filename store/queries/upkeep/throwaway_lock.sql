-- Let one transaction at a time remove a throw-away tenant. No row when it is gone, or none that is thrown away.
select tenant_id
  from tenant
 where tenant_id = %(tenant_id)s::bigint
   and expires_at is not null
   for update;
