-- Begin to erase a user: from the commit on, no call is made for the user. No row when it has begun already.
insert into erasure (tenant_id, user_id, key_id, scope_ids)
select %(tenant_id)s::bigint, %(user_id)s::text, %(key_id)s::bigint,
       array(select scope_id
               from scope
              where tenant_id = %(tenant_id)s
                and kind in ('user', 'conversations', 'documents')
                and key = %(user_id)s)
on conflict (tenant_id, user_id) where finished_at is null do nothing
returning erasure_id, tenant_id, user_id, scope_ids, begun_at, finished_at, counts;
