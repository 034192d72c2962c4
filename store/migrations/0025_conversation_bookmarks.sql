-- Where the reader of a file that only grows has stopped, so that it reads on from there. A lineage is a digest of how
-- the file begins, which stays the same while it grows: of each there is one row.
alter table conversation_file add column lineage bytea check (octet_length(lineage) = 32);
alter table conversation_file add column bookmark jsonb;
create unique index conversation_file_lineage on conversation_file (scope_id, lineage);
