-- Messages and documents count towards quotas, by the bytes of their texts.
drop function check_tenant_quota(bigint, jsonb);
drop function tenant_usage(bigint);

-- What a tenant stores over all of its scopes; or one of its users or projects, and then no row if it has no scope.
create function tenant_usage(tenant bigint, of_kind text default 'tenant', of_key text default '')
returns table (files bigint, bytes bigint, revisions bigint, stored_bytes bigint)
language sql stable
set search_path = public, pg_temp
as $$
  select coalesce(sum(stat.files), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.standing_bytes else recounted.bytes end
                      + evidence.bytes), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.revisions else recounted.revisions end), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.stored_bytes else recounted.stored_bytes end
                      + evidence.bytes), 0)::bigint
    from (select *
            from public.scope
           where scope.tenant_id = tenant
             and of_kind = 'tenant'
           union all
          select *
            from public.scope
           where scope.tenant_id = tenant
             and scope.kind = any (case of_kind when 'user' then array['user', 'conversations', 'documents']
                                                when 'project' then array['project', 'project_documents'] end)
             and scope.key = of_key) s
    join public.scope_stat stat using (scope_id)
   cross join lateral (
         select coalesce((select said.text_bytes from public.conversation_stat said where said.scope_id = s.scope_id), 0)
                + coalesce((select held.text_bytes from public.document_stat held where held.scope_id = s.scope_id), 0)
                as bytes) as evidence
    left join lateral (
         select coalesce(sum(octet_length(r.content)) filter (where r.rev_end is null and r.origin is null), 0) as bytes,
                count(*) as revisions,
                coalesce(sum(octet_length(r.content)), 0) as stored_bytes
           from public.revision r
          where s.counted_rev <> s.rev
            and r.scope_id = s.scope_id) as recounted on true
  having of_kind = 'tenant' or count(*) > 0
$$;

-- Fail if a tenant, or one of its users or projects, stores more than its quota allows, in one of the measures in which
-- this transaction has added to it. What has no room left takes no more of what adds 0, either. A row that all writers
-- of it lock is locked until the commit, so what others add at the same moment is counted. SQLSTATE MX003, with JSON.
create function check_tenant_quota(tenant bigint, added jsonb, of_kind text default 'tenant', of_key text default '')
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  limits jsonb;
  used jsonb;
  measure text;
begin
  perform set_config('memex.maintenance', 'on', true);
  if of_kind = 'tenant' then
    perform 1 from public.quota q where q.tenant_id = tenant and q.kind = 'tenant' for update;
  end if;
  -- Limits of its own go before those of all users or projects.
  select coalesce(jsonb_object_agg(q.measure, q.most order by q.key), '{}') into limits
    from (select quota.key, said.key as measure, said.value as most
            from public.quota
           cross join lateral jsonb_each(to_jsonb(quota) - '{tenant_id,kind,key}'::text[]) as said
           where quota.tenant_id = tenant
             and quota.kind = of_kind
             and quota.key in ('', of_key)
             and said.value <> 'null') q;
  if limits ?| array(select jsonb_object_keys(added)) then
    perform 1
       from public.scope s
       join public.scope_stat stat using (scope_id)
      where s.tenant_id = tenant
        and s.kind = of_kind
        and s.key = of_key
        for update of stat;
    -- A statement of its own, which sees what was committed while the row was waited for.
    select to_jsonb(u) into used from public.tenant_usage(tenant, of_kind, of_key) u;
  end if;
  perform set_config('memex.maintenance', maintenance, true);
  for measure in select jsonb_object_keys(added) loop
    if (used ->> measure)::bigint > (limits ->> measure)::bigint
       or (added ->> measure)::bigint = 0 and (used ->> measure)::bigint = (limits ->> measure)::bigint then
      raise exception 'a quota is exceeded' using
        errcode = 'MX003',
        detail = jsonb_build_object('kind', of_kind, 'key', of_key, 'measure', measure,
                                    'limit', (limits ->> measure)::bigint, 'added', (added ->> measure)::bigint,
                                    'used', (used ->> measure)::bigint - (added ->> measure)::bigint)::text;
    end if;
  end loop;
end
$$;

-- Whatever adds messages, events or documents counts them in these rows, so nothing passes by.
create function check_evidence_quota() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  added bigint := new.text_bytes - old.text_bytes;
  holder record;
begin
  perform set_config('memex.maintenance', 'on', true);
  select case s.kind when 'project_documents' then 'project' else 'user' end as kind, s.key into holder
    from public.scope s
   where s.scope_id = new.scope_id
     and exists (select from public.quota q where q.tenant_id = new.tenant_id);
  if found then
    perform public.check_tenant_quota(new.tenant_id, amounts.added, holder.kind, holder.key),
            public.check_tenant_quota(new.tenant_id, amounts.added)
       from (select jsonb_build_object('bytes', added, 'stored_bytes', added) as added) amounts;
  end if;
  perform set_config('memex.maintenance', maintenance, true);
  return null;
end
$$;
create trigger check_evidence_quota after update on conversation_stat
  for each row when (new.text_bytes > old.text_bytes or new.next_event > old.next_event)
  execute function check_evidence_quota();
create trigger check_evidence_quota after update on document_stat
  for each row when (new.text_bytes > old.text_bytes)
  execute function check_evidence_quota();
revoke all on function tenant_usage(bigint, text, text) from public;
revoke all on function check_tenant_quota(bigint, jsonb, text, text) from public;
revoke all on function check_evidence_quota() from public;
