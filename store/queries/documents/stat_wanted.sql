-- When somebody last asked the watching clients of a scope for a sync.
select wanted_at
  from document_stat
 where scope_id = %(scope_id)s;
