-- Of these tables, those that are there: the columns that are stored as given, whether row-level security binds the
-- owner too, and the sequences behind identities with the last number that each gave.
select table_name,
       array(select quote_ident(attname)
               from pg_attribute
              where attrelid = relation and attnum > 0 and not attisdropped and attgenerated = ''
              order by attnum) as columns,
       (select relforcerowsecurity from pg_class where oid = relation) as is_forced,
       array(select row(sequence.oid::regclass::text, coalesce(pg_sequence_last_value(sequence.oid::regclass), 0))::text
               from pg_depend
               join pg_class as sequence on sequence.oid = objid and sequence.relkind = 'S'
              where refobjid = relation and deptype in ('a', 'i')) as sequences
  from unnest(%(tables)s::text[]) with ordinality as named (table_name, place)
 cross join to_regclass(table_name) as relation
 where relation is not null
 order by place;
