-- Have the new texts of these scopes embedded once this transaction is committed.
select embed_later(%(scope_ids)s::bigint[]);
