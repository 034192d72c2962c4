-- Remove by what a user is known: the scopes with their counters, keys, memberships, sessions, links and the quota. Sessions
-- of administrators who look at the user's memory look at nobody's now. Always one row, of what was removed.
with scopes as (
  delete from scope
   where tenant_id = %(tenant_id)s::bigint
     and kind in ('user', 'conversations', 'documents')
     and key = %(user_id)s::text
  returning scope_id
)
, stats as (
  delete from scope_stat
   where scope_id in (select scope_id from scopes)
  returning scope_id
)
, conversation_stats as (
  delete from conversation_stat
   where scope_id in (select scope_id from scopes)
  returning scope_id
)
, document_stats as (
  delete from document_stat
   where scope_id in (select scope_id from scopes)
  returning scope_id
)
, sessions as (
  delete from ui_session
   where tenant_id = %(tenant_id)s
     and (role = 'agent' and user_id = %(user_id)s
          or key_id in (select key_id from api_key where tenant_id = %(tenant_id)s and user_id = %(user_id)s))
  returning session_id
)
, looking as (
  update ui_session
     set user_id = null
   where tenant_id = %(tenant_id)s
     and role = 'admin'
     and user_id = %(user_id)s
     and (key_id is null or key_id not in (
          select key_id from api_key where tenant_id = %(tenant_id)s and user_id = %(user_id)s))
  returning session_id
)
, links as (
  delete from ui_link
   where tenant_id = %(tenant_id)s
     and user_id = %(user_id)s
  returning link_id
)
, keys as (
  delete from api_key
   where tenant_id = %(tenant_id)s
     and user_id = %(user_id)s
  returning key_id
)
, labels as (
  update api_key
     set label = null
   where tenant_id = %(tenant_id)s
     and user_id is distinct from %(user_id)s
     and label = %(user_id)s
  returning key_id
)
, memberships as (
  delete from project_member
   where tenant_id = %(tenant_id)s
     and user_id = %(user_id)s
  returning scope_id
)
, quotas as (
  delete from quota
   where tenant_id = %(tenant_id)s
     and kind = 'user'
     and key = %(user_id)s
  returning key
)
, rates as (
  delete from write_rate
   where tenant_id = %(tenant_id)s
     and name = 'writes-user'
     and holder = %(user_id)s
)
select (select count(*) from keys) as keys,
       (select count(*) from memberships) as memberships,
       (select count(*) from sessions) as sessions,
       (select count(*) from quotas) as quotas;
