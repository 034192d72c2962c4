-- A tenant by its number, or by its name and the time at which it was made, which a backup keeps and no other database
-- has. No row when there is none.
select tenant_id, name as tenant, extract(epoch from created_at)::text as tenant_made_at
  from tenant
 where tenant_id = %(tenant_id)s::bigint
    or name = %(tenant)s::text
   and extract(epoch from created_at)::text = %(tenant_made_at)s::text;
