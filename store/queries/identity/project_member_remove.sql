-- End a membership. No row when there was none.
delete from project_member
 where scope_id = %(scope_id)s::bigint
   and user_id = %(user_id)s::text
returning user_id;
