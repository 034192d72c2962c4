-- Note what a reader answered about messages, or that it gave no answer that can be used; an answer that is known stays. A
-- message that is gone is left out. One row with the number of answers that were noted.
with noted as (
  insert into work_answer as known (scope_id, tenant_id, conversation_no, number, reader, sha256, spans, tries, answered_at,
                                    is_derived)
  select %(scope_id)s::bigint, %(tenant_id)s::bigint, given.conversation_no, given.number, %(reader)s::text,
         decode(given.sha256, 'hex'), given.spans, given.tries, %(answered_at)s::timestamptz, given.spans is null
    from jsonb_to_recordset(%(answers)s::jsonb)
      as given (conversation_no bigint, number integer, sha256 text, spans jsonb, tries integer)
   where exists (
           select
             from message
            where message.scope_id = %(scope_id)s
              and message.conversation_no = given.conversation_no
              and message.number = given.number)
  on conflict (scope_id, conversation_no, number, reader) do update
     set spans = excluded.spans,
         tries = excluded.tries,
         answered_at = excluded.answered_at,
         is_derived = excluded.is_derived
   where known.spans is null
  returning number
)
select count(*)::integer as answers
  from noted;
