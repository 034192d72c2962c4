-- How many passages of each kind a tenant has, or all tenants without one, and how many of them a model has embedded. No
-- row for a kind without passages.
select counted.kind, count(*) as passages, count(embedding.text_sha256) as embedded
  from (select scope.scope_id,
               case when scope.kind in ('documents', 'project_documents') then 'documents'
                    when scope.kind = 'conversations' then 'conversations'
                    else 'memory' end as kind
          from scope
         where scope.kind not in ('admin', 'visitor')
           and (%(tenant_id)s::bigint is null or scope.tenant_id = %(tenant_id)s::bigint)) as counted
  join chunk
    on chunk.scope_id = counted.scope_id
  left join embedding
    on embedding.scope_id = chunk.scope_id
   and embedding.model = %(model)s::text
   and embedding.text_sha256 = chunk.sha256
 group by counted.kind
 order by counted.kind desc;
