-- That a text was told again does not count while the call that told it is taken back.
alter table told_again add column taken_back_in text collate "C";

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  execute format('create policy updates on told_again for update using (%s or %s)', writes, is_owner);
end
$$;

-- A text that is told again files no line again.
delete from statement later
 using statement first
 where later.scope_id = first.scope_id
   and later.file_id = first.file_id
   and later.line_key = first.line_key
   and later.entry_path = first.entry_path
   and later.start_char = first.start_char
   and later.state = first.state
   and later.rev_end is null
   and first.rev_end is null
   and later.rev > first.rev;

-- Entries of the journal count by their bytes, and neither as files nor in the bytes of files.
alter table scope add column journal_bytes bigint not null default 0;
with told as (
  select scope_id, count(*) as entries
    from revision
   where origin is not null
     and rev_end is null
     and not deleted
   group by scope_id
),
counted as (
  update scope_stat
     set files = files - told.entries
    from told
   where scope_stat.scope_id = told.scope_id
)
update scope
   set counted_rev = -1
  from told
 where scope.scope_id = told.scope_id;

create or replace function tenant_usage(tenant bigint)
returns table (files bigint, bytes bigint, revisions bigint, stored_bytes bigint)
language sql stable
set search_path = public, pg_temp
as $$
  select coalesce(sum(stat.files), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.standing_bytes else recounted.bytes end), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.revisions else recounted.revisions end), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.stored_bytes else recounted.stored_bytes end), 0)::bigint
    from public.scope s
    join public.scope_stat stat using (scope_id)
    left join lateral (
         select coalesce(sum(octet_length(r.content)) filter (where r.rev_end is null and r.origin is null), 0) as bytes,
                count(*) as revisions,
                coalesce(sum(octet_length(r.content)), 0) as stored_bytes
           from public.revision r
          where s.counted_rev <> s.rev
            and r.scope_id = s.scope_id) as recounted on true
   where s.tenant_id = tenant
$$;
