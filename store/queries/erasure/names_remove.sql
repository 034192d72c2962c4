-- Take the name of a user out of the log of the administrators: where an argument is the name, a part of it by which
-- users were looked for, or the label of a key of the user. Revisions that stay and bear the name as their author lose it
-- too, as do roots of documents in projects, and citations of the user's conversations in files of others go. Always one row.
with logs as (
  select scope_id
    from scope
   where tenant_id = %(tenant_id)s::bigint
     and kind in ('admin', 'visitor')
)
, named as (
  update operation
     set request = replace((case when kind = 'key_create' and request ->> 'user' = %(user_id)s
                                 then request - 'label' else request end)::text,
                           to_jsonb(%(user_id)s::text)::text, to_jsonb(%(author)s::text)::text)::jsonb,
         request_sha256 = sha256(convert_to(operation_id::text, 'UTF8'))
   where scope_id in (select scope_id from logs)
     and position(to_jsonb(%(user_id)s::text)::text in request::text) > 0
  returning operation_id
)
, looked_for as (
  update operation
     set request = request - 'query',
         request_sha256 = sha256(convert_to(operation_id::text, 'UTF8'))
   where scope_id in (select scope_id from logs)
     and kind = 'user_list'
     and request ->> 'query' <> %(user_id)s
     and position(lower(request ->> 'query') in lower(%(user_id)s)) > 0
  returning operation_id
)
, authors as (
  update revision
     set actor = %(author)s
   where scope_id in (select scope_id from scope where tenant_id = %(tenant_id)s)
     and actor = %(user_id)s
  returning version
)
, roots as (
  update document_root
     set owner = ''
   where tenant_id = %(tenant_id)s
     and owner = %(user_id)s
)
, owned as (
  update document
     set owner = ''
   where tenant_id = %(tenant_id)s
     and owner = %(user_id)s
)
, cited as (
  delete from citation
   where tenant_id = %(tenant_id)s
     and user_id = %(user_id)s
  returning number
)
select (select count(*) from named) + (select count(*) from looked_for) as named,
       (select count(*) from authors) as authors,
       (select count(*) from cited) as citations;
