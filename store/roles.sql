-- The two roles that every request acts as. Run where one is missing (`upkeep/roles_missing`): roles belong to the
-- whole server, and another database may be making them at the same moment. `upkeep/grants_missing` says what each may.
do $$
declare
  name text;
begin
  foreach name in array array['memex_agent', 'memex_admin'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception
        when duplicate_object or unique_violation then null;  -- another database was first
        when insufficient_privilege then return;              -- FORCE binds the owner instead
      end;
    end if;
    if not pg_has_role(current_user, name, 'member') or current_setting('is_superuser') = 'off' then
      begin
        execute format('grant %I to current_user', name);
      exception
        when insufficient_privilege then null;
      end;
    end if;
  end loop;
end
$$;
