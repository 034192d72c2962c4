-- Set what is done about secrets of a tenant, and raise its access epoch, so that every replica heeds it with its next
-- transaction. One row: what was set.
update tenant
   set secrets_remember = %(remember)s::text,
       secrets_files = %(files)s::text,
       access_epoch = greatest(access_epoch + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
 where tenant_id = %(tenant_id)s::bigint
returning secrets_remember as remember, secrets_files as files;
