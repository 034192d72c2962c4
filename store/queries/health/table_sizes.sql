-- What the tables of the database take on disk with their indexes, by what they hold; the largest first.
select case
         when relation.relname = 'revision' then 'files'
         when relation.relname in ('chunk', 'chunk_removed', 'posting', 'link', 'scope_stat') then 'search index'
         when relation.relname like 'embedding%%' or relation.relname like 'token%%' then 'vectors'
         when relation.relname in ('operation', 'prompt', 'log_hour', 'spend') then 'log'
         when relation.relname in ('message', 'conversation', 'conversation_removed', 'conversation_stat',
                                    'conversation_file', 'conversation_import', 'source', 'event', 'observation',
                                    'work_derived', 'work_answer', 'work_mark', 'citation', 'distilled', 'told_again', 'statement',
                                    'rival', 'tombstone', 'work_link', 'dream', 'proposal', 'proposal_edit')
           then 'conversations'
         when relation.relname in ('document', 'document_root', 'document_stat') then 'documents'
         when namespace.nspname = 'procrastinate' then 'jobs'
         else 'other tables'
       end as name,
       sum(pg_total_relation_size(relation.oid))::bigint as size_bytes
  from pg_class relation
  join pg_namespace namespace on namespace.oid = relation.relnamespace
 where relation.relkind in ('r', 'm')
   and namespace.nspname in ('public', 'procrastinate')
 group by 1
 order by 2 desc, 1;
