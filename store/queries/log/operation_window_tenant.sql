-- The last of the rows that operation_search_tenant.sql reads. No row when the log ends before.
select operation.operation_id, operation.started_at
  from operation
 where operation.tenant_id = %(tenant_id)s
   and operation.parent_id is null
   and operation.started_at >= %(since)s
   and operation.started_at < %(until)s
   and operation.started_at <= %(before_time)s
   and (operation.started_at < %(before_time)s or operation.operation_id < %(before)s)
 order by operation.started_at desc, operation.operation_id desc
offset %(window)s - 1
 limit 1;
