-- Begin to erase words, unless it has begun already.
insert into word_erasure (erasure_id, tenant_id, user_id, is_wide, token, entry)
values (%(erasure_id)s::text, %(tenant_id)s::bigint, %(user_id)s::text, %(is_wide)s::boolean, %(token)s::text,
        %(entry)s::jsonb)
on conflict do nothing;
