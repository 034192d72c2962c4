-- The texts of documents.
select document.document_id, document.text
  from unnest(%(document_ids)s::bigint[]) as wanted (document_id)
 cross join lateral (
        select *
          from document
         where document.scope_id = %(scope_id)s
           and document.document_id = wanted.document_id
        offset 0) as document;
