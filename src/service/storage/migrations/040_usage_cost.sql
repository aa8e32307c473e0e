-- What no CLI reported a price of has cost an unknown sum, which is not 0.
alter table usage_day alter column cost_usd drop default;
alter table usage_day alter column cost_usd drop not null;
update usage_day set cost_usd = null where cost_usd = 0 and input_tokens + output_tokens > 0;
