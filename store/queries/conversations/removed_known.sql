-- Those of some digests whose conversations were removed.
select removed.sha256
  from conversation_removed removed
 where removed.scope_id = %(scope_id)s
   and removed.sha256 = any (%(digests)s::bytea[]);
