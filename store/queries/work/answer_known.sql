-- Answers of a scope that are known by these digests: what the reader said of the same text elsewhere. No row if none is.
select distinct on (sha256) sha256, spans
  from work_answer
 where scope_id = %(scope_id)s
   and sha256 = any (%(sha256s)s::bytea[])
   and spans is not null
 order by sha256, answered_at, conversation_no, number;
