-- Remove the vectors of texts that have left their scope; the scope's lock is held.
select forget_vectors(%(scope_id)s::bigint, %(sha256s)s::bytea[]);
