-- Who an account is: after a restore of an older backup its id is given to another, its uid is not.
alter table account add column uid uuid not null default gen_random_uuid();
create unique index account_uid on account (uid);
-- What a key's secret is derived from. Null: from its user's id and request id, as those of version 1 are.
alter table api_key add column uid uuid;
-- What a thread's creation meant; null where it was not kept.
alter table thread add column intent_hash bytea;
-- Where a user has logged in from: the lock of a name alone does not hold there.
create table login_address (user_id int not null references account, address text not null, last_at timestamptz not null default now(), primary key (user_id, address));
