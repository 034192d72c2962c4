-- Every scope of a tenant, and with it every log of its callers.
select scope_id
  from scope
 where tenant_id = %(tenant_id)s
 order by scope_id;
