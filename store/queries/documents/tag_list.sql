-- The tags of the documents of scopes, those of most documents first: how many bear each, and when the last of these
-- came. Tags are compared without case, and each is written as most documents have it.
select mode() within group (order by one.tag) as tag,
       count(distinct (document.scope_id, document.document_id)) as files,
       max(document.updated_at) as updated_at
  from document
 cross join lateral unnest(document.tags, document.tag_keys) as one (tag, tag_key)
 where document.scope_id = any (%(scope_ids)s::bigint[])
 group by one.tag_key
 order by files desc, one.tag_key
 limit %(limit)s;
