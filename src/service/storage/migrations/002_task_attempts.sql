alter table task add column stalled_attempts int not null default 0, add column attempt_outcome text check (attempt_outcome in ('moved','handed_over'));
create index task_open on task (created_at) where status in ('pending','running');
