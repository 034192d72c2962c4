-- Add a schema to the end of the search path, for the rest of the transaction.
select set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(%(schema)s::text)), true);
