-- The pages that stand in a scope, in the order of their paths, each with the last change of it that no dream made.
select head.path, head.version, head.content, head.file_id,
       coalesce((
         select max(earlier.rev)
           from revision as earlier
          where earlier.scope_id = head.scope_id
            and earlier.file_id = head.file_id
            and earlier.channel <> 'dream'), 0) as changed
  from revision as head
 where head.scope_id = %(scope_id)s
   and head.rev_end is null
   and not head.deleted
   and head.origin is null
 order by head.path;
