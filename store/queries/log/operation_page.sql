-- The last of the next rows of the log, in the order of its key, of one tenant or of all. No row at the end of the log.
select scope_id, operation_id
  from (select scope_id, operation_id
          from operation
         where (scope_id, operation_id) > (%(after_scope_id)s::bigint, %(after_operation_id)s::bigint)
           and parent_id is null
           and (%(tenant_id)s::bigint is null or tenant_id = %(tenant_id)s)
         order by scope_id, operation_id
         limit %(limit)s) as page
 order by scope_id desc, operation_id desc
 limit 1;
