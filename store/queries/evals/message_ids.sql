-- The provider's id of each message of a scope, by its conversation and its number. No row comes back for a scope
-- without conversations.
select conversation.conversation_id, message.number, message.provider_id
  from message
  join conversation using (scope_id, conversation_no)
 where message.scope_id = %(scope_id)s;
