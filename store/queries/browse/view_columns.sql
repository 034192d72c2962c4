-- The columns of some views, in their order.
select wanted.view, attribute.attname::text as name, format_type(attribute.atttypid, attribute.atttypmod) as kind
  from unnest(%(views)s::text[]) with ordinality as wanted (view, place)
  join pg_attribute attribute
    on attribute.attrelid = to_regclass(wanted.view)
   and attribute.attnum > 0
   and not attribute.attisdropped
 order by wanted.place, attribute.attnum;
