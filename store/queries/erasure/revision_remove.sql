-- Remove some revisions of these scopes. Always one row: how many, and how many of them were files.
with gone as (
  delete from revision
   where ctid = any (array(select old.ctid
                             from revision old
                            where old.scope_id = any (%(scope_ids)s::bigint[])
                            limit %(limit)s))
     and scope_id = any (%(scope_ids)s)
  returning rev_end is null and not deleted as is_file
)
select count(*) as revisions, count(*) filter (where is_file) as files
  from gone;
