-- How many passages of a scope of conversations there are, and how many of them have a vector of a model.
select count(*) as passages, count(embedding.text_sha256) as embedded
  from chunk
  left join embedding
    on embedding.scope_id = chunk.scope_id
   and embedding.model = %(model)s
   and embedding.text_sha256 = chunk.sha256
 where chunk.scope_id = %(scope_id)s;
