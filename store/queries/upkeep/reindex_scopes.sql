-- The scopes that hold files or messages, and how many, of one tenant, kind and key where those are named, in one of these pairs of language and
-- analyzer where any are given.
select scope.scope_id, tenant.name as tenant, scope.kind, scope.key, scope.language, scope.analyzer,
       coalesce(conversation_stat.messages, document_stat.documents, scope_stat.files) as files
  from scope
  join tenant on tenant.tenant_id = scope.tenant_id
  join scope_stat on scope_stat.scope_id = scope.scope_id
  left join document_stat on document_stat.scope_id = scope.scope_id
  left join conversation_stat on conversation_stat.scope_id = scope.scope_id
 where scope.kind not in ('admin', 'visitor')
   and (%(tenant)s::text is null or tenant.name = %(tenant)s::text)
   and (%(kind)s::text is null or scope.kind = %(kind)s::text)
   and (%(key)s::text is null or scope.key = %(key)s::text)
   and (%(languages)s::text[] is null or exists (
           select
             from unnest(%(languages)s::text[], %(analyzers)s::text[]) as made (language, analyzer)
            where made.language = scope.language
              and made.analyzer is not distinct from scope.analyzer))
 order by tenant.name, scope.kind, scope.key
 limit %(limit)s;
