-- The erasure of a user that is not finished, locked: of those who finish one, one works at a time. No row when there is
-- none.
select erasure_id, tenant_id, user_id, scope_ids, begun_at, finished_at, counts
  from erasure
 where tenant_id = %(tenant_id)s::bigint
   and user_id = %(user_id)s::text
   and finished_at is null
   for update;
