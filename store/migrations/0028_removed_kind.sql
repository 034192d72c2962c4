-- The format of what was removed, so that an import can tell how many conversations of it stay out.
alter table conversation_removed add column kind text not null default '';
