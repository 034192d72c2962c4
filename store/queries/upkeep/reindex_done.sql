-- Say what made the index of a scope anew, and count it: a plan that was made over the old one is made again.
update scope
   set language = %(language)s,
       analyzer = case when rev > 0 or kind in ('conversations', 'documents', 'project_documents') then %(analyzer)s end,
       rebuilds = rebuilds + 1
 where scope_id = %(scope_id)s;
