-- How a page of a manifest differs from what is stored between two paths, `after` without and `until` with its own; a null
-- `until` is no bound. Always one row: the paths whose text is not stored, the paths under which the root has the same text,
-- as JSON; the documents that the page lacks; those of its own that an earlier page lacked; and how many are as they were.
with listed as materialized (
  select path, sha256
    from unnest(%(paths)s::text[], %(sha256s)s::bytea[]) as one (path, sha256)
),
held as materialized (
  select document.document_id, document.path, document.sha256, document.missed_by
    from document
   where document.scope_id = %(scope_id)s
     and document.root_no = %(root_no)s
     and document.path > %(after)s::text collate "C"
     and (%(until)s::text is null or document.path <= %(until)s::text collate "C")
),
compared as materialized (
  select listed.path, listed.sha256, held.document_id, held.path as held_path, held.sha256 as held_sha256,
         held.missed_by
    from listed
    full join held on held.path = listed.path
),
wanted as (
  select compared.path,
         array(select same.path
                 from document as same
                where same.scope_id = %(scope_id)s
                  and same.root_no = %(root_no)s
                  and same.sha256 = compared.sha256
                order by same.path
                limit 5) as same_as
    from compared
   where compared.path is not null
     and compared.sha256 is distinct from compared.held_sha256
)
select coalesce((select json_agg(json_build_array(path, same_as) order by path collate "C") from wanted), '[]'::json)
         as wanted,
       coalesce((select json_agg(json_build_array(document_id, held_path) order by held_path collate "C")
                   from compared
                  where path is null), '[]'::json) as gone,
       array(select document_id
               from compared
              where path is not null
                and missed_by is not null) as found_again,
       (select count(*) from compared where sha256 = held_sha256) as unchanged;
