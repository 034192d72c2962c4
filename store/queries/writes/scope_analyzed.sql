-- Note what makes the index of a scope, at its first import or push: an index that an older version began stays out of date.
-- No rows.
update scope
   set analyzer = %(analyzer)s
 where scope_id = %(scope_id)s
   and analyzer is null;
