-- The calls of a whole tenant, the newest first.
create index operation_newest on operation (tenant_id, started_at) where parent_id is null;
