-- Note how far conversations have been distilled; less far than before only if they are read again. No rows.
insert into distilled (scope_id, tenant_id, conversation_id, until_number, planner, tool_call_id, distilled_at)
select %(scope_id)s, %(tenant_id)s::bigint, conversation_id, until_number, planner, tool_call_id, distilled_at
  from unnest(%(conversation_ids)s::text[], %(until_numbers)s::integer[], %(planners)s::text[],
              %(tool_call_ids)s::text[], %(distilled_ats)s::timestamptz[])
       as part (conversation_id, until_number, planner, tool_call_id, distilled_at)
 order by conversation_id
on conflict (scope_id, conversation_id) do update
   set until_number = case when %(is_again)s::boolean then excluded.until_number
                           else greatest(distilled.until_number, excluded.until_number) end,
       planner = excluded.planner,
       tool_call_id = excluded.tool_call_id,
       distilled_at = excluded.distilled_at;
