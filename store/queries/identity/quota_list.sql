-- What is stored and may be stored: of the tenant, of each user and project with a quota of its own, and of one that is
-- asked for, with the bytes of journals, the messages of imported conversations, and documents; with `only_asked` of that one alone. A row with
-- the key '' holds for all users, or projects, and has no numbers of use. For maintenance.
with wanted as (
  select %(kind)s::text as kind, %(key)s::text as key
   where %(kind)s is not null
  union
  select 'tenant', ''
   where not %(only_asked)s
  union
  select kind, key
    from quota
   where tenant_id = %(tenant_id)s
     and not %(only_asked)s
)
select wanted.kind,
       wanted.key,
       coalesce(own.files, every.files) as max_files,
       coalesce(own.bytes, every.bytes) as max_bytes,
       coalesce(own.revisions, every.revisions) as max_revisions,
       coalesce(own.stored_bytes, every.stored_bytes) as max_stored_bytes,
       used.*,
       used_by_journals.journal_bytes,
       held.messages,
       held.message_bytes,
       mirrored.documents,
       mirrored.document_bytes
  from wanted
  left join quota own on own.tenant_id = %(tenant_id)s and own.kind = wanted.kind and own.key = wanted.key
  left join quota every on every.tenant_id = %(tenant_id)s and every.kind = wanted.kind and every.key = ''
  left join lateral (
       select usage.files, usage.bytes, usage.revisions, usage.stored_bytes
         from tenant_usage(%(tenant_id)s, wanted.kind, wanted.key) as usage
        where wanted.kind = 'tenant' or wanted.key <> '') as used on true
 cross join lateral (
       select coalesce(sum(case when scope.counted_rev = scope.rev then scope.journal_bytes else counted.bytes end), 0)::bigint
                as journal_bytes
         from scope
         left join lateral (
              select sum(octet_length(content)) as bytes
                from revision
               where scope.counted_rev <> scope.rev
                 and revision.scope_id = scope.scope_id
                 and rev_end is null
                 and origin is not null) as counted on true
        where scope.tenant_id = %(tenant_id)s
          and scope.kind = 'user'
          and (wanted.kind = 'tenant' or (wanted.kind = 'user' and scope.key = wanted.key))) as used_by_journals
 cross join lateral (
       select coalesce(sum(conversation_stat.messages), 0)::bigint as messages,
              coalesce(sum(conversation_stat.text_bytes), 0)::bigint as message_bytes
         from conversation_stat
         join scope using (scope_id)
        where conversation_stat.tenant_id = %(tenant_id)s
          and scope.kind = 'conversations'
          and (wanted.kind = 'tenant' or (wanted.kind = 'user' and scope.key = wanted.key))) as held
 cross join lateral (
       select coalesce(sum(document_stat.documents), 0)::bigint as documents,
              coalesce(sum(document_stat.text_bytes), 0)::bigint as document_bytes
         from document_stat
         join scope using (scope_id)
        where document_stat.tenant_id = %(tenant_id)s
          and (wanted.kind = 'tenant'
               or scope.kind = case wanted.kind when 'user' then 'documents' else 'project_documents' end
                  and scope.key = wanted.key)) as mirrored
 order by wanted.kind <> 'tenant', wanted.kind desc, wanted.key;
