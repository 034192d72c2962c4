-- Questions that were asked of memory_context over a mount: those of a person first, then the newest, each once. `kept` are
-- the calls of captured cases, which count however old they are.
select question.query, question.kept
  from (select operation.request ->> 'query' as query, bool_or(operation.kept) as kept,
               bool_or(operation.user_id = %(user_id)s) as own, max(operation.now) as asked_at
          from operation
         where operation.tenant_id = %(tenant_id)s
           and operation.scope_id = any (%(scope_ids)s::bigint[])
           and operation.parent_id is null
           and operation.kind = 'memory_context'
           and operation.status in ('answered', 'repeated')
           and operation.state ? %(mount)s
           and (operation.kept or operation.now >= %(since)s)
           and length(operation.request ->> 'query') between 1 and 2000
         group by 1) as question
 order by question.kept desc, question.own desc, question.asked_at desc, question.query
 limit %(limit)s;
