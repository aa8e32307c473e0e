import { z } from "zod";

// What is read of the service's answers, and no more: a newer service may answer more.

const Status = z.string();

export const Me = z.object({
  user: z.object({ id: z.int(), username: z.string(), display_name: z.string(), role: z.string() }),
  credential: z.object({ type: z.string(), api_key_id: z.int().optional() }),
});

export const LoginStarted = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number(),
  interval: z.number(),
});
export const KeyCreated = z.object({ api_key: z.object({ id: z.int() }), secret: z.string().min(1) });

export const Info = z.object({ limits: z.object({ max_file_bytes: z.number().optional() }) });
export const SupportedTypes = z.object({
  types: z.array(z.object({ extension: z.string(), available: z.boolean(), needs: z.string().optional() })),
});

export const Bases = z.object({
  databases: z.array(
    z.object({
      kb_id: z.string(),
      name: z.string(),
      description: z.string(),
      kb_type: z.string(),
      can_manage: z.boolean(),
      file_count: z.int(),
    }),
  ),
  total: z.int(),
});

export const Base = z.object({
  database: z.object({
    kb_id: z.string(),
    name: z.string(),
    kb_type: z.string(),
    counts: z.record(z.string(), z.int()),
    index: z.object({ lexical: z.string().nullable(), vector: z.string().nullable() }),
  }),
});

export const Files = z.object({
  files: z.array(
    z.object({
      file_id: z.string(),
      filename: z.string(),
      source_path: z.string().nullable(),
      status: Status,
      file_size: z.number(),
      updated_at: z.string(),
    }),
  ),
  total: z.int(),
  offset: z.int(),
  has_more: z.boolean(),
});

/** Records as those who manage them see them. */
export const Records = z.object({
  files: z.array(
    z.object({
      file_id: z.string(),
      filename: z.string(),
      source_path: z.string().nullable(),
      file_path: z.string(),
      content_hash: z.string(),
      status: Status,
    }),
  ),
  total: z.int(),
});

export const Uploaded = z.object({ file_path: z.string(), content_hash: z.string(), size: z.number() });
export const Added = z.object({
  items: z.array(z.object({ item: z.string(), file_id: z.string() })),
  failed_items: z.array(z.object({ item: z.string(), error: z.object({ code: z.string(), message: z.string() }) })),
});

export const Hits = z.object({
  search_mode: z.string(),
  index: z.object({ lexical: z.string().nullable(), vector: z.string().nullable() }),
  results: z.array(
    z.object({
      file_id: z.string(),
      content: z.string(),
      score: z.number(),
      metadata: z.object({
        source: z.string(),
        source_path: z.string().nullable(),
        source_url: z.string().nullable(),
        heading: z.string(),
        start_line: z.int().nullable(),
        end_line: z.int().nullable(),
        page: z.int().nullable(),
      }),
    }),
  ),
  warnings: z.array(z.string()),
  took_ms: z.number(),
});

export const Lines = z.object({
  file_id: z.string(),
  filename: z.string(),
  start_line: z.int(),
  end_line: z.int(),
  total_lines: z.int(),
  next_offset: z.int().nullable(),
  content: z.string(),
});

export const Windows = z.object({
  total_matches: z.int(),
  total_lines: z.int(),
  windows: z.array(
    z.object({
      start_line: z.int(),
      end_line: z.int(),
      matched_lines: z.array(z.int()),
      content: z.string(),
    }),
  ),
  has_more: z.boolean(),
  next_after_line: z.int().nullable(),
});

export const Queued = z.object({
  status: z.enum(["queued", "success"]),
  task_id: z.string().nullable(),
  queued_count: z.int().optional(),
});

export const Task = z.object({
  task: z.object({
    id: z.string(),
    kind: z.string(),
    name: z.string(),
    status: z.enum(["pending", "running", "success", "failed", "cancelled"]),
    progress: z.number(),
    message: z.string(),
    cancel_requested: z.boolean(),
    result: z.unknown(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    created_at: z.string(),
    completed_at: z.string().nullable(),
  }),
});
export type Task = z.infer<typeof Task>["task"];

/** The result of a task that parses or indexes. */
export const WorkDone = z.object({
  total: z.int(),
  parsed: z.int().default(0),
  indexed: z.int().default(0),
  failed: z.int(),
  skipped: z.int(),
  files: z
    .array(
      z.object({
        file_id: z.string(),
        filename: z.string(),
        status: Status,
        error: z.object({ code: z.string(), message: z.string() }).nullish(),
      }),
    )
    .default([]),
});
