-- Put a row of the log with a filler in the place of the words.
update operation
   set request = %(request)s::jsonb,
       request_sha256 = %(request_sha256)s::bytea,
       response = %(response)s::jsonb,
       result_sha256 = %(result_sha256)s::bytea,
       inside = %(inside)s::jsonb,
       inside_sha256 = %(inside_sha256)s::bytea,
       config = %(config)s::jsonb,
       saw = %(saw)s::text[]
 where ctid = %(ctid)s::tid
   and tableoid = %(place_table)s::bigint::oid;
