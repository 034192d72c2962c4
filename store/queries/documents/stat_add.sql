-- Count what a change of a root added, or took away, in the root and in its scope. Their locks are held. No rows.
with counted as (
  update document_stat
     set documents = documents + %(documents)s::integer,
         text_bytes = text_bytes + %(text_bytes)s::bigint,
         next_version = next_version + 1
   where scope_id = %(scope_id)s
)
update document_root
   set documents = documents + %(documents)s::integer,
       text_bytes = text_bytes + %(text_bytes)s::bigint,
       passages = passages + %(passages)s::integer
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s;
