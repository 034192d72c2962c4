-- The size of this database on its disk, in bytes. There is always one row.
select pg_database_size(current_database()) as bytes;
