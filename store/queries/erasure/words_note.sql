-- Add to what an erasure of words has changed: how many rows of each table, and the scopes whose index is to be made anew.
update word_erasure
   set counts = (select jsonb_object_agg(name, coalesce((counts ->> name)::bigint, 0)
                                               + coalesce((%(changed)s::jsonb ->> name)::bigint, 0))
                   from (select jsonb_object_keys(counts) union select jsonb_object_keys(%(changed)s::jsonb))
                        as measure (name)),
       scope_ids = array(select unnest(scope_ids) union select unnest(%(scope_ids)s::bigint[]) order by 1),
       touched = array(select unnest(touched) union select unnest(%(touched)s::text[]) order by 1)
 where erasure_id = %(erasure_id)s::text;
