-- Add to what an erasure has removed, and keep the newest access epoch, in which calls of the user are refused. Always one
-- row: the sums.
update erasure
   set counts = (select jsonb_object_agg(name, coalesce((counts ->> name)::bigint, 0)
                                               + coalesce((%(removed)s::jsonb ->> name)::bigint, 0))
                   from (select jsonb_object_keys(counts) union select jsonb_object_keys(%(removed)s::jsonb))
                        as measure (name)),
       epoch = coalesce(epoch, (select tenant.access_epoch from tenant where tenant.tenant_id = erasure.tenant_id)),
       finished_at = coalesce(finished_at, case when %(is_last)s::boolean then clock_timestamp() end)
 where erasure_id = %(erasure_id)s::bigint
returning erasure_id, tenant_id, user_id, scope_ids, begun_at, finished_at, counts;
