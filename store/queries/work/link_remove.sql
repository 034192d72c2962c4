-- Take the link of a label away. No row if there is none.
delete from work_link where scope_id = %(scope_id)s and label = %(label)s::text returning slug;
