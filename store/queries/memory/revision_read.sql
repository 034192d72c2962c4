-- One stored version of a path. No row when the path never had it.
select *
  from revision
 where scope_id = %(scope_id)s
   and path = %(path)s
   and version = %(version)s;
