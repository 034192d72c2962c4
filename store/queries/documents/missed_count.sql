-- How many documents of a root the manifest of a sync lacks. Always one row.
select count(*) as gone
  from document
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s
   and missed_by = %(sync)s;
