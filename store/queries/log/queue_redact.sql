-- Put a request without its secrets in the place of what was accepted. Without effect when the call is done.
update operation
   set request = %(request)s::jsonb,
       request_sha256 = %(request_sha256)s
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status = 'queued';
