-- Give the lines of pages whose words were erased the keys of what stands in their places.
update statement
   set line_key = line.new_key
  from unnest(%(file_ids)s::bigint[], %(old_keys)s::bytea[], %(new_keys)s::bytea[]) as line (file_id, old_key, new_key)
 where statement.scope_id = %(scope_id)s::bigint
   and statement.file_id = line.file_id
   and statement.line_key = line.old_key
   and line.new_key is not null
   and not exists (
       select
         from statement other
        where other.scope_id = statement.scope_id
          and other.file_id = statement.file_id
          and other.line_key = line.new_key);
