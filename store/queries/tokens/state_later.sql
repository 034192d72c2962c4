-- Have the token states of these scopes' new texts made once this transaction is committed.
select states_later(%(scope_ids)s::bigint[]);
