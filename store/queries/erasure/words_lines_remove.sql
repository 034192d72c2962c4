-- Remove what is known of lines by their words: what became of them, what contradicts them, and what they cite.
with stated as (
  delete from statement
   using unnest(%(file_ids)s::bigint[], %(old_keys)s::bytea[]) as line (file_id, old_key)
   where statement.scope_id = %(scope_id)s::bigint
     and statement.file_id = line.file_id
     and statement.line_key = line.old_key
)
, rivals as (
  delete from rival
   where rival.older_scope = %(scope_id)s::bigint
     and (rival.older_key = any (%(old_keys)s::bytea[]) or rival.older_path = any (%(entries)s::text[]))
      or rival.newer_scope = %(scope_id)s::bigint
     and (rival.newer_key = any (%(old_keys)s::bytea[]) or rival.newer_path = any (%(entries)s::text[]))
)
delete from citation
 where citation.scope_id = %(scope_id)s::bigint
   and citation.statement_sha256 = any (%(cited)s::bytea[]);
