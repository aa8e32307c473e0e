-- Where a run acted in its thread: numbered when it is made, while the thread is held. Its id is of its request's intake.
alter table run add column ordinal bigint;
update run set ordinal = numbered.ordinal from (select id, row_number() over (order by created_at, id) as ordinal from run) numbered where numbered.id = run.id;
alter table run alter column ordinal set not null;
alter table run alter column ordinal add generated always as identity;
select setval(pg_get_serial_sequence('run', 'ordinal'), greatest((select max(ordinal) from run), 1), exists (select 1 from run));
drop index run_of_thread;
create index run_of_thread on run (thread_pk, ordinal desc);
alter table run_attempt add column has_moved boolean not null default false;
update run_attempt set has_moved = true where outcome is null;
-- Since when a run is over whose turn may go on.
alter table run add column turn_left_at timestamptz;
create index run_turn_left on run (turn_left_at) where turn_left_at is not null;
alter table thread add column purged_at timestamptz;
create index thread_unpurged on thread (deleted_at) where deleted_at is not null and purged_at is null;
create index task_ended on task (completed_at) where completed_at is not null;
