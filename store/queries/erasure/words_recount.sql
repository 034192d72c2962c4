-- Count the bytes of texts in these scopes anew, since a filler has as many characters as the words, and not as many bytes.
with files as (
  update scope
     set counted_rev = -1
   where scope_id = any (%(scope_ids)s::bigint[])
     and kind in ('user', 'shared', 'project')
)
, messages as (
  update conversation_stat
     set text_bytes = (select coalesce(sum(octet_length(message.text)), 0)
                         from message
                        where message.scope_id = conversation_stat.scope_id)
   where scope_id = any (%(scope_ids)s::bigint[])
)
, documents as (
  update document
     set size_bytes = octet_length(text)
   where scope_id = any (%(scope_ids)s::bigint[])
     and size_bytes <> octet_length(text)
)
, roots as (
  update document_root
     set text_bytes = (select coalesce(sum(octet_length(document.text)), 0)
                         from document
                        where document.scope_id = document_root.scope_id
                          and document.root_no = document_root.root_no)
   where scope_id = any (%(scope_ids)s::bigint[])
)
update document_stat
   set text_bytes = (select coalesce(sum(octet_length(document.text)), 0)
                       from document
                      where document.scope_id = document_stat.scope_id)
 where scope_id = any (%(scope_ids)s::bigint[]);
