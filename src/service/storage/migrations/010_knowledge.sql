-- PGlite has both extensions; a PostgreSQL may have them, and its user may not be allowed to create them.
do $$ begin if exists (select from pg_available_extensions where name = 'vector') then create extension if not exists vector; end if; exception when others then raise warning 'pgvector is installed and cannot be used: %', sqlerrm; end $$;
do $$ begin if exists (select from pg_available_extensions where name = 'pg_textsearch') then create extension if not exists pg_textsearch; end if; exception when others then raise warning 'pg_textsearch is installed and cannot be used: %', sqlerrm; end $$;

create table knowledge_base (
  id text primary key,
  no int generated always as identity unique,
  name text not null check (length(name) between 1 and 200),
  description text not null default '',
  kb_type text not null check (kb_type in ('local','dify','notion')),
  share_config jsonb not null,
  embedding_model_spec text,
  embedding_dims int,
  chunking jsonb not null default '{}',
  query_params jsonb not null default '{}',
  connector jsonb not null default '{}',
  revision int not null default 1,
  created_by int not null references account,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index knowledge_base_name on knowledge_base (created_by, lower(name)) where deleted_at is null;

-- Names an object until a file record does.
create table knowledge_upload (
  object_key text primary key,
  kb_id text not null references knowledge_base,
  filename text not null,
  content_hash text not null,
  size bigint not null,
  source_url text,
  created_by int not null references account,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index knowledge_upload_expiry on knowledge_upload (expires_at);

create table knowledge_file (
  id text primary key,
  kb_id text not null references knowledge_base,
  filename text not null,
  source_path text,
  source_url text,
  file_type text not null,
  object_key text not null,
  file_path text not null,
  content_hash text not null,
  size bigint not null,
  status text not null default 'uploaded' check (status in ('uploaded','parsing','parsed','error_parsing','indexing','indexed','error_indexing')),
  -- What a released claim goes back to.
  came_from text,
  came_error jsonb,
  claim_task uuid,
  claim_attempt int,
  lease_until timestamptz,
  tries int not null default 0,
  parsed_by uuid,
  indexed_by uuid,
  markdown_key text,
  markdown_bytes bigint,
  lines int,
  pages int,
  parser text,
  warnings jsonb not null default '[]',
  generation int not null default 0,
  chunk_count int not null default 0,
  token_count int not null default 0,
  -- Words of the live generation, for the mean length of BM25.
  term_count bigint not null default 0,
  vector_count int not null default 0,
  -- There may be chunks of a generation that is not the live one.
  has_stale_chunks boolean not null default false,
  params jsonb not null default '{}',
  error jsonb,
  created_by int references account,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((status in ('parsing','indexing')) = (claim_task is not null and lease_until is not null)),
  check ((status in ('error_parsing','error_indexing')) = (error is not null)),
  check (status not in ('parsed','indexing','indexed','error_indexing') or markdown_key is not null),
  check (status <> 'indexed' or chunk_count > 0)
);
create index knowledge_file_listed on knowledge_file (kb_id, updated_at desc, id);
create index knowledge_file_state on knowledge_file (kb_id, status, id);
create index knowledge_file_lease on knowledge_file (lease_until) where lease_until is not null;
create index knowledge_file_hash on knowledge_file (kb_id, content_hash);
create index knowledge_file_object on knowledge_file (object_key);
create index knowledge_file_markdown on knowledge_file (markdown_key) where markdown_key is not null;
create index knowledge_file_stale on knowledge_file (id) where has_stale_chunks;

-- Not an identity: PostgreSQL 15 does not give it to a row of a partition that is named.
create sequence knowledge_chunk_id;
create table knowledge_chunk (
  kb_no int not null,
  id bigint not null default nextval('knowledge_chunk_id'),
  file_id text not null,
  generation int not null,
  chunk_index int not null,
  content text not null,
  heading text not null default '',
  start_line int not null,
  end_line int not null,
  start_char int not null,
  end_char int not null,
  page int,
  tokens text not null,
  token_count int not null,
  term_count int not null,
  terms tsvector,
  primary key (kb_no, id),
  unique (kb_no, file_id, generation, chunk_index)
) partition by list (kb_no);

-- float16 where pgvector is; elsewhere float32, little-endian.
do $$ begin execute format('create table knowledge_vector (kb_no int not null, chunk_id bigint not null, model text not null, dims int not null, embedding %s not null, primary key (kb_no, chunk_id)) partition by list (kb_no)', case when exists (select from pg_extension where extname = 'vector') then 'halfvec' else 'bytea' end); end $$;
