-- The sessions of these that have not ended, with the user whose memory each shows.
select session.session_id, session.user_id
  from ui_session session
  left join api_key key on key.key_id = session.key_id
 where session.session_id = any (%(session_ids)s::bigint[])
   and session.revoked_at is null
   and session.expires_at > clock_timestamp()
   and (session.key_id is null or key.revoked_at is null);
