-- The pages that stand in a scope, in the order of their paths, each with the last change of it that no dream made.
select head.path, head.version, head.content, head.file_id, head.created_at,
       case when head.channel <> 'dream' then head.rev else 0 end as changed
  from revision as head
 where head.scope_id = %(scope_id)s
   and head.rev_end is null
   and not head.deleted
   and head.origin is null
 order by head.path;
