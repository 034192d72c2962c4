-- Note what a person decided about an item of work. No row if the same was noted at this moment.
insert into work_mark (scope_id, tenant_id, item_id, marked_at, action, tool_call_id, conversation_id, ends_on)
values (%(scope_id)s, %(tenant_id)s, %(item_id)s, %(marked_at)s, %(action)s, %(tool_call_id)s, %(conversation_id)s,
        %(ends_on)s)
on conflict do nothing
returning item_id;
