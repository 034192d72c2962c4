-- The next documents of a scope with what is indexed of them, by id: at most 500, and no more after 512 KiB of text.
select document.document_id, document.path, document.kind, document.given_tags, document.text, document.size_bytes
  from (select document_id, sum(size_bytes) over (order by document_id) - size_bytes as bytes_ahead
          from (select document_id, size_bytes
                  from document
                 where scope_id = %(scope_id)s
                   and document_id > %(after)s::bigint
                 order by document_id
                 limit 500) as page) as wanted
 cross join lateral (
        select *
          from document
         where document.scope_id = %(scope_id)s
           and document.document_id = wanted.document_id
        offset 0) as document
 where wanted.bytes_ahead < 512 * 1024
 order by document.document_id;
