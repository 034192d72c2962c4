-- Texts of a tenant to look for secrets in, in the order of scope, path and version, after one of them: those that
-- stand, or with `history` all stored ones; of these scopes, or of all. At most `limit` rows.
select text.scope_id, scope.kind, scope.key, text.path, text.version, text.content,
       text.rev_end is null as is_standing
  from revision text
  join scope on scope.scope_id = text.scope_id
 where text.tenant_id = %(tenant_id)s::bigint
   and (%(scope_ids)s::bigint[] is null or text.scope_id = any (%(scope_ids)s::bigint[]))
   and (text.scope_id, text.path, text.version)
       > (%(after_scope)s::bigint, %(after_path)s::text collate "C", %(after_version)s::integer)
   and not text.deleted
   and (%(history)s::boolean or text.rev_end is null)
 order by text.scope_id, text.path, text.version
 limit %(limit)s;
