-- Take away all that is derived of a scope's texts but what stands beside them. The scope's lock is held.
with postings as (delete from posting where scope_id = %(scope_id)s),
     removed as (delete from chunk_removed where scope_id = %(scope_id)s),
     links as (delete from link where scope_id = %(scope_id)s)
delete from chunk
 where scope_id = %(scope_id)s;
