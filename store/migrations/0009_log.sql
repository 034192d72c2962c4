-- What reads the log backwards goes by the calls alone, of which each has some ten operations inside it; and retention
-- asks whether any request to a model still names a prompt.
create index operation_top on operation (scope_id, operation_id) where parent_id is null;
create index operation_prompt on operation (tenant_id, prompt_sha256) where prompt_sha256 is not null;
