-- Add what a request to a model cost to its tenant's spending on a day.
insert into spend (tenant_id, day, model, requests, input_tokens, output_tokens, usd)
values (%(tenant_id)s, %(day)s, %(model)s, %(requests)s, %(input_tokens)s, %(output_tokens)s, %(usd)s)
on conflict (tenant_id, day, model) do update
   set requests = spend.requests + excluded.requests,
       input_tokens = spend.input_tokens + excluded.input_tokens,
       output_tokens = spend.output_tokens + excluded.output_tokens,
       usd = spend.usd + excluded.usd;
