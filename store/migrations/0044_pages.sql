-- The files of a scope without the entries of its journal, which are many more: statements are looked for in these alone.
create index revision_page on revision (scope_id, path) where rev_end is null and not deleted and origin is null;
