-- Make a link that signs a browser in, and forget those of the tenant that expired a day ago.
with forgotten as (
  delete from ui_link
   where tenant_id = %(tenant_id)s::bigint
     and expires_at < clock_timestamp() - interval '1 day'
)
insert into ui_link (tenant_id, token_sha256, user_id, expires_at)
values (%(tenant_id)s::bigint, %(token_sha256)s::bytea, %(user_id)s::text,
        clock_timestamp() + %(lifetime_s)s::integer * interval '1 second');
