-- Note which documents the manifest of a sync lacks, and which it has again. The lock of the root is held. No rows.
update document
   set missed_by = marked.missed_by
  from (select gone.document_id, %(sync)s::integer as missed_by
          from unnest(%(gone)s::bigint[]) as gone (document_id)
        union all
        select back.document_id, null
          from unnest(%(found_again)s::bigint[]) as back (document_id)) as marked
 where document.scope_id = %(scope_id)s
   and document.document_id = marked.document_id
   and document.missed_by is distinct from marked.missed_by;
