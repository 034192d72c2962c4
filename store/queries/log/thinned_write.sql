-- Take the texts of versions of a scope, whose lock is held, with what is made of them. Always one row: how many, and how
-- many bytes of text.
with wanted as materialized (
  select revision.scope_id, revision.file_id, revision.rev, octet_length(revision.content) as size_bytes,
         array[page.last_rev, page.first_chars, page.last_chars] as thinned
    from unnest(%(file_ids)s::bigint[], %(revs)s::bigint[], %(last_revs)s::bigint[], %(first_chars)s::bigint[],
                %(last_chars)s::bigint[]) as page (file_id, rev, last_rev, first_chars, last_chars)
    join revision
      on revision.scope_id = %(scope_id)s
     and revision.file_id = page.file_id
     and revision.rev = page.rev
     and revision.thinned is null
), thinned as (
  update revision
     set content = '',
         title = regexp_replace(revision.path, '^.*/|[.]md$', '', 'g'),
         tags = '{}',
         tag_keys = '{}',
         thinned = wanted.thinned
    from wanted
   where revision.scope_id = wanted.scope_id
     and revision.file_id = wanted.file_id
     and revision.rev = wanted.rev
  returning wanted.size_bytes
), counted as (
  select count(*) as versions, coalesce(sum(size_bytes), 0)::bigint as size_bytes
    from thinned
), noted as (
  update scope
     set stored_bytes = greatest(0, scope.stored_bytes - counted.size_bytes)
    from counted
   where scope.scope_id = %(scope_id)s
)
select versions, size_bytes
  from counted;
