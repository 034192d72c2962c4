-- The day that a file is of, by its front matter or its name: a query that says `last week` is narrowed by it. A file
-- that was written before gets its day when the index of its scope is rebuilt, or it is written again.
alter table revision add column dated date;
