-- What a tenant's calls used since a day, by day and model, the newest day first. No row when no model was asked.
select day, model, requests, input_tokens, output_tokens, usd
  from spend
 where tenant_id = %(tenant_id)s
   and day >= %(since)s
 order by day desc, model;
