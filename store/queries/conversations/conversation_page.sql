-- Conversations, the newest first, each with its messages on the path and the first words that a person wrote in it.
select page.conversation_id, page.provider_id, page.title, page.project, page.started_at, page.last_at,
       page.is_complete, page.conversation_no, page.kind, page.label, page.account,
       (select count(*)
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = page.conversation_no
           and message.on_path) as messages,
       coalesce((select left(message.text, 200)
                   from message
                  where message.scope_id = %(scope_id)s
                    and message.conversation_no = page.conversation_no
                    and message.on_path
                    and message.human_authored
                  order by message.position
                  limit 1), '') as first_words
  from (select conversation.*, source.kind, source.label, source.account
          from conversation
          join source
            on source.scope_id = conversation.scope_id
           and source.source_id = conversation.source_id
         where conversation.scope_id = %(scope_id)s
           and (%(source)s::text is null or %(source)s in (source.label, source.kind))
           and (%(project)s::text is null or conversation.project = %(project)s)
           and (%(since)s::timestamptz is null or conversation.last_at >= %(since)s)
           and (%(until)s::timestamptz is null or conversation.last_at < %(until)s)
           and (%(after_no)s::bigint is null
                or (coalesce(conversation.last_at, '-infinity'), conversation.conversation_no)
                   < (coalesce(%(after_at)s::timestamptz, '-infinity'), %(after_no)s::bigint))
         order by conversation.last_at desc nulls last, conversation.conversation_no desc
         limit %(limit)s::integer) as page
 order by page.last_at desc nulls last, page.conversation_no desc;
