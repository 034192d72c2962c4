"""What makes up the schema of a database."""

from typing import Any

import psycopg

# What makes up a schema, by name; the order of columns may differ between a table made and one altered.
CATALOGUE = """
select 'table', relname::text, to_jsonb(array[relkind::text, reloptions::text, relrowsecurity::text,
       relforcerowsecurity::text, relacl::text, relpersistence::text])
  from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
union all
select 'column', relname || '.' || attname, to_jsonb(array[format_type(atttypid, atttypmod), attnotnull::text,
       attidentity::text, attgenerated::text, attstorage::text, collname, attacl::text,
       pg_get_expr(adbin, adrelid)])
  from pg_attribute
  join pg_class on pg_class.oid = attrelid and relkind = 'r'
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  left join pg_collation on pg_collation.oid = attcollation
 where relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
union all
select 'constraint', conrelid::regclass || '.' || conname, to_jsonb(pg_get_constraintdef(oid))
  from pg_constraint where connamespace = 'public'::regnamespace
union all
select 'index', indexrelid::regclass::text, to_jsonb(pg_get_indexdef(indexrelid))
  from pg_index join pg_class on pg_class.oid = indrelid and relnamespace = 'public'::regnamespace
union all
select 'policy', tablename || '.' || policyname,
       to_jsonb(array[permissive, roles::text, cmd, qual, with_check])
  from pg_policies where schemaname = 'public'
union all
select 'function', proname::text, to_jsonb(array[pg_get_functiondef(oid), proacl::text])
  from pg_proc
 where pronamespace = 'public'::regnamespace and prokind = 'f'
   and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
union all
select 'trigger', tgrelid::regclass || '.' || tgname,
       to_jsonb(array[pg_get_triggerdef(pg_trigger.oid), tgenabled::text])
  from pg_trigger
  join pg_class on pg_class.oid = tgrelid and relnamespace = 'public'::regnamespace
 where not tgisinternal
 order by 1, 2
"""


def run(conninfo: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement as the owner in maintenance, and return its rows."""
    with psycopg.connect(conninfo) as connection:
        connection.execute("set local memex.maintenance = 'on'")
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def catalogue(conninfo: str) -> dict[tuple[Any, ...], Any]:
    """Return what makes up the schema of a database, by kind and name."""
    return {tuple(row[:2]): row[2] for row in run(conninfo, CATALOGUE)}
