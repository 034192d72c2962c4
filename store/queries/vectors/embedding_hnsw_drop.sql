-- Take an approximate index away while others read and write. What stands in braces is filled in.
drop index concurrently if exists {index};
