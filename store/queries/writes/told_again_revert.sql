-- Count no more that texts of a journal were told again by a call that is taken back; count it again if that call took
-- others back, and them. No rows.
update told_again
   set taken_back_in = case when tool_call_id = %(reverted)s then %(tool_call_id)s end
 where scope_id = %(scope_id)s
   and case when tool_call_id = %(reverted)s then taken_back_in is null else taken_back_in = %(reverted)s end;
