-- What a tenant's calls cost on a day, in US dollars. Always one row.
select coalesce(sum(usd), 0) as usd
  from spend
 where tenant_id = %(tenant_id)s
   and day = %(day)s;
