-- The edits that were rejected or taken back in a scope: what they say of the same lines is not proposed again.
select kind, path, change
  from proposal_edit
 where scope_id = %(scope_id)s
   and state in ('rejected', 'reverted');
