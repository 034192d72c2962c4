"""What must not be found in a database, by the statement that finds it."""

INCONSISTENCIES = {
    "a file with two open revisions": """
        select scope_id, file_id from revision where rev_end is null group by 1, 2 having count(*) > 1""",
    "a head without chunks": """
        select r.path from revision r where r.rev_end is null and not r.deleted and not exists (
          select from chunk c where c.scope_id = r.scope_id and c.file_id = r.file_id)""",
    "a chunk without a head": """
        select c.chunk_id from chunk c where not exists (
          select from revision r
           where r.scope_id = c.scope_id and r.file_id = c.file_id and r.rev_end is null and not r.deleted)
           and not exists (select from document d where d.scope_id = c.scope_id and d.document_id = c.file_id)""",
    "a root whose counts are not those of its documents": """
        select r.name
          from document_root r
          left join (select scope_id, root_no, count(*) as documents, sum(octet_length(text)) as text_bytes,
                            sum((select count(*) from chunk c
                                  where c.scope_id = d.scope_id and c.file_id = d.document_id)) as passages
                       from document d group by 1, 2) as held using (scope_id, root_no)
         where (r.documents, r.text_bytes, r.passages) is distinct from
               (coalesce(held.documents, 0), coalesce(held.text_bytes, 0), coalesce(held.passages, 0))""",
    "postings that are not the merged chunks'": """
        with merged as (
          select chunk.scope_id, chunk_id, lexemes, tfs, length
            from chunk join scope_stat using (scope_id)
           where chunk_id <= merged_chunk_id
          union all
          select scope_id, chunk_id, lexemes, tfs, length from chunk_removed
        ),
        expected as (
          select scope_id, lexeme, (chunk_id::bigint << 32) | (length::bigint << 16) | tf
            from merged, unnest(lexemes, tfs) as term (lexeme, tf)
        )
        (table expected except all select scope_id, lexeme, unnest(entries) from posting)
        union all
        (select scope_id, lexeme, unnest(entries) from posting except all table expected)""",
    "totals that are not the chunks'": """
        select s.scope_id
          from scope_stat s
          left join (select scope_id, count(*) as n, sum(length) as total_length from chunk group by 1) as c
            on c.scope_id = s.scope_id
         where (s.n, s.total_length) is distinct from (coalesce(c.n, 0), coalesce(c.total_length, 0))""",
    "a count of files that is not the heads'": """
        select s.scope_id from scope_stat s
         where s.files is distinct from (
               select count(*)::integer from revision r
                where r.scope_id = s.scope_id and r.rev_end is null and not r.deleted and r.origin is null)""",
    "a revision without its call in the log": """
        select r.path from revision r join scope s using (scope_id) where not exists (
          select from operation o where o.tool_call_id = r.tool_call_id and o.status = 'committed'
             and o.response -> 'writes' ?
                 (case s.kind when 'project' then 'projects/' || s.key else s.kind end
                  || '/' || r.path || '@' || r.version))""",
    "a committed call without its revisions": """
        select o.tool_call_id from operation o, jsonb_array_elements_text(o.response -> 'writes') as written
         where o.status = 'committed' and not exists (
               select from revision r join scope s using (scope_id)
                where written = case s.kind when 'project' then 'projects/' || s.key else s.kind end
                                || '/' || r.path || '@' || r.version)""",
    "a change number that no revision bears": """
        select s.scope_id from scope s
         where s.kind = 'user'
           and s.rev is distinct from (
               select coalesce(max(r.rev), 0) from revision r where r.scope_id = s.scope_id)""",
}
