-- The lines that pages of a scope had in older versions, each once; those of pages that are gone count too.
select distinct line
  from revision
 cross join regexp_split_to_table(revision.content, '[\r\n]+') as line
 where revision.scope_id = %(scope_id)s
   and revision.rev_end is not null
   and revision.origin is null
   and revision.thinned is null
   and line <> '';
