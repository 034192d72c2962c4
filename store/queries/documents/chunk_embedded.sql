-- Which chunks have a vector of a model. No row for one whose text was not embedded.
select chunk.chunk_id
  from unnest(%(chunk_ids)s::integer[]) as asked (chunk_id)
  join chunk
    on chunk.scope_id = %(scope_id)s
   and chunk.chunk_id = asked.chunk_id
 where exists (
        select
          from embedding
         where embedding.scope_id = %(scope_id)s
           and embedding.model = %(model)s
           and embedding.text_sha256 = chunk.sha256);
