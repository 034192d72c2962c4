-- How many memories of a tenant hold passages, how many of them a model has embedded whole, how many failed and with what
-- last. Always one row.
select count(*) as scopes,
       count(*) filter (where progress.rev >= scope.rev) as embedded,
       count(*) filter (where progress.error is not null) as failed,
       (array_agg(progress.error order by progress.at desc) filter (where progress.error is not null))[1] as error
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id and scope_stat.n > 0
  left join embedding_progress as progress
    on progress.scope_id = scope.scope_id
   and progress.model = %(model)s::text
 where scope.tenant_id = %(tenant_id)s::bigint
   and scope.kind not in ('conversations', 'documents', 'project_documents');
