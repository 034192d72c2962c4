-- Whether another file has a path, or had it. Always one row.
select exists (select from revision where scope_id = %(scope_id)s::bigint and path = %(path)s::text) as is_taken;
