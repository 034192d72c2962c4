-- Add the links of files, in the order in which they stand there.
insert into link (scope_id, tenant_id, source_file_id, ordinal, side, target_key, raw, anchor)
select added.scope_id, %(tenant_id)s::bigint, added.file_id, added.ordinal, added.side, added.target_key, added.raw,
       added.anchor
  from unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[], %(ordinals)s::integer[], %(sides)s::smallint[],
              %(target_keys)s::text[], %(raws)s::text[], %(anchors)s::text[])
       as added (scope_id, file_id, ordinal, side, target_key, raw, anchor);
