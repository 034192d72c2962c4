-- The earlier text of 0019 named one scope of the user, or null.
alter table erasure add column scope_ids bigint[];
update erasure set scope_ids = array_remove(array[scope_id], null);
alter table erasure
  alter column scope_ids set not null,
  drop column scope_id;
