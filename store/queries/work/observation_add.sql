-- Add what was read of conversations, and note how far. A conversation that another call has read meanwhile is left out:
-- what was known of it before must still be so. One row with the number of conversations that were noted.
with read as (
  select *
    from jsonb_to_recordset(%(read)s::jsonb)
      as given (conversation_no bigint, derived_to integer, sha256 text, before integer, is_anew boolean)
),
noted as (
  insert into work_derived as known (scope_id, tenant_id, conversation_no, derived_to, deriver_version, sha256)
  select %(scope_id)s::bigint, %(tenant_id)s::bigint, read.conversation_no, read.derived_to,
         %(deriver_version)s::integer, decode(read.sha256, 'hex')
    from read
   where exists (select
                   from conversation
                  where conversation.scope_id = %(scope_id)s
                    and conversation.conversation_no = read.conversation_no)
  on conflict (scope_id, conversation_no) do update
     set derived_to = excluded.derived_to,
         deriver_version = excluded.deriver_version,
         sha256 = excluded.sha256
   where known.derived_to = (select read.before from read where read.conversation_no = known.conversation_no)
  returning conversation_no
),
gone as (
  delete from observation
   using noted
    join read using (conversation_no)
   where observation.scope_id = %(scope_id)s
     and observation.conversation_no = noted.conversation_no
     and (read.is_anew or observation.kind in ('follow_up', 'session_summary', 'last_answer'))
  returning observation.conversation_no, observation.number, observation.place
),
added as (
  insert into observation (scope_id, tenant_id, conversation_no, number, place, kind, start_char, end_char, by_human,
                           is_firm, confidence)
  select %(scope_id)s, %(tenant_id)s, given.conversation_no, given.number, given.place, given.kind, given.start_char,
         given.end_char, given.by_human, given.is_firm, given.confidence
    from jsonb_to_recordset(%(observations)s::jsonb)
      as given (conversation_no bigint, number integer, place integer, kind text, start_char integer, end_char integer,
                by_human boolean, is_firm boolean, confidence real)
    join noted using (conversation_no)
   where (select count(*) from gone) >= 0  -- what is replaced goes first
)
select count(*)::integer as conversations
  from noted;
