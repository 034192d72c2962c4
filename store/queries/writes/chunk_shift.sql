-- Say where chunks of unchanged text stand now.
update chunk
   set start_char = shifted.start_char,
       end_char = shifted.end_char
  from unnest(%(chunk_ids)s::integer[], %(starts)s::integer[], %(ends)s::integer[])
       as shifted (chunk_id, start_char, end_char)
 where chunk.scope_id = %(scope_id)s
   and chunk.chunk_id = shifted.chunk_id;
