-- How many conversations of a scope were removed and stay out, by their format.
select removed.kind, count(*)::integer as removed
  from conversation_removed removed
 where removed.scope_id = %(scope_id)s
 group by removed.kind;
