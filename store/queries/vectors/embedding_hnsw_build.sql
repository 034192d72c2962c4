-- Make the approximate index of one scope's vectors while others read and write. What stands in braces is filled in.
create index concurrently if not exists {index}
    on embedding using hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops)
 where scope_id = {scope_id}
   and model = {model}
   and vector_dims(vector) = {dimensions};
