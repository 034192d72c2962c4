-- Raise the access epoch of a tenant: calls that began before it end without a trace, if they may read what was erased.
with raised as (
  update tenant
     set access_epoch = greatest(access_epoch + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
   where tenant_id = %(tenant_id)s::bigint
  returning access_epoch
)
update word_erasure
   set epoch = raised.access_epoch,
       raised_at = clock_timestamp()
  from raised
 where erasure_id = %(erasure_id)s::text;
