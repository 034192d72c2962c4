-- Put documents in the place of what is stored of them. A null text stays as it is. The scope's lock is held. No rows.
with given as (
  select *
    from jsonb_to_recordset(%(written)s::jsonb)
         as given (document_id bigint, is_new boolean, path text, sha256 text, kind text, title text, tags text[],
                   tag_keys text[], given_tags text[], text text, size_bytes integer, passages integer,
                   changed_at timestamptz)
),
changed as (
  update document
     set path = given.path,
         version = %(version)s::integer,
         sha256 = decode(given.sha256, 'hex'),
         kind = given.kind,
         title = given.title,
         tags = given.tags,
         tag_keys = given.tag_keys,
         given_tags = given.given_tags,
         text = coalesce(given.text, document.text),
         size_bytes = given.size_bytes,
         passages = given.passages,
         changed_at = coalesce(given.changed_at, document.changed_at),
         updated_at = %(now)s::timestamptz,
         missed_by = null
    from given
   where not given.is_new
     and document.scope_id = %(scope_id)s
     and document.document_id = given.document_id
)
insert into document (scope_id, tenant_id, document_id, root_no, owner, path, version, sha256, kind, title, tags,
                      tag_keys, given_tags, text, size_bytes, passages, changed_at, updated_at)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, document_id, %(root_no)s::integer, %(owner)s::text, path,
       %(version)s::integer, decode(sha256, 'hex'), kind, title, tags, tag_keys, given_tags, text, size_bytes, passages,
       changed_at, %(now)s::timestamptz
  from given
 where is_new;
