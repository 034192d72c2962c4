-- The scopes that have at least so many vectors of a model, with the dimensions that most of those have; not those of
-- tenants that are thrown away.
select embedding.scope_id, mode() within group (order by vector_dims(embedding.vector)) as dimensions
  from embedding
 where embedding.model = %(model)s
   and not exists (
         select
           from tenant
          where tenant.tenant_id = embedding.tenant_id
            and tenant.expires_at is not null)
 group by embedding.scope_id
having count(*) >= %(vectors)s
 order by embedding.scope_id;
