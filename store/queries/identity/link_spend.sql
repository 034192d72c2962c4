-- Spend a link. No row when it is unknown, was spent or has expired.
update ui_link
   set spent_at = clock_timestamp()
 where token_sha256 = %(token_sha256)s::bytea
   and spent_at is null
   and expires_at > clock_timestamp()
returning tenant_id, user_id;
