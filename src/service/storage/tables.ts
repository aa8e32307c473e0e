import type { SandboxKind } from "../protocol/sandboxes.ts";
import type { GeneratedAlways } from "kysely";
import type {
  WithDefault,
  JsonWithDefault,
  TimeWithDefault,
  Json,
  JsonObject,
  JsonOrNull,
  OrNull,
  Time,
} from "./columns.ts";
import type { KnowledgeTables } from "./knowledge-tables.ts";

export type { JsonObject } from "./columns.ts";

// Mirrors migrations/*.sql. `Given` columns have a default of the database.

export interface Database extends KnowledgeTables {
  instance: { key: string; value: Json<unknown>; updated_at: TimeWithDefault };
  department: { id: WithDefault<number>; name: string; created_at: TimeWithDefault };
  account: AccountTable;
  login_failure: { bucket: string; failures: number; window_ends_at: Time };
  login_address: { user_id: number; address: string; last_at: TimeWithDefault };
  api_key: ApiKeyTable;
  cli_session: CliSessionTable;
  audit_entry: AuditEntryTable;
  agent: AgentTable;
  thread: ThreadTable;
  manifest: { digest: Uint8Array; body: Json<unknown> };
  run_request: RunRequestTable;
  run: RunTable;
  run_attempt: RunAttemptTable;
  run_event: RunEventTable;
  sandbox: SandboxTable;
  task: TaskTable;
  webhook: WebhookTable;
  webhook_delivery: WebhookDeliveryTable;
  usage_day: UsageDayTable;
}

export interface AccountTable {
  id: WithDefault<number>;
  /** Random: no other account has it, in this database or in another. */
  uid: WithDefault<string>;
  username: string;
  display_name: WithDefault<string>;
  password_hash: OrNull<string>;
  role: "user" | "admin" | "superadmin";
  department_id: OrNull<number>;
  is_enabled: WithDefault<boolean>;
  epoch: WithDefault<number>;
  quota: JsonWithDefault<JsonObject>;
  created_by: OrNull<number>;
  created_at: TimeWithDefault;
  updated_at: TimeWithDefault;
  deleted_at: OrNull<Time>;
}

export interface ApiKeyTable {
  id: WithDefault<number>;
  /** What the secret is derived from; null: version 1. */
  uid: OrNull<string>;
  user_id: number;
  request_id: string;
  intent_hash: Uint8Array;
  key_hash: Uint8Array;
  key_prefix: string;
  name: string;
  is_enabled: WithDefault<boolean>;
  expires_at: OrNull<Time>;
  last_used_at: OrNull<Time>;
  quota: JsonWithDefault<JsonObject>;
  source: WithDefault<"api" | "cli">;
  department_id: OrNull<number>;
  created_by: number;
  created_at: TimeWithDefault;
  revoked_at: OrNull<Time>;
}

export interface CliSessionTable {
  device_hash: Uint8Array;
  user_code: string;
  client_name: string;
  state: "pending" | "approved" | "denied" | "consumed";
  user_id: OrNull<number>;
  api_key_id: OrNull<number>;
  ip: string;
  last_polled_at: OrNull<Time>;
  created_at: TimeWithDefault;
  expires_at: Time;
}

export interface AuditEntryTable {
  id: WithDefault<number>;
  at: TimeWithDefault;
  actor_id: OrNull<number>;
  credential: string;
  action: string;
  subject: string;
  ip: OrNull<string>;
  details: JsonWithDefault<JsonObject>;
}

export interface AgentTable {
  id: WithDefault<number>;
  slug: string;
  name: string;
  description: WithDefault<string>;
  executor: "cli-a" | "cli-b";
  mode: "execute" | "plan" | "review" | "plan_then_execute";
  model_spec: OrNull<string>;
  allowed_models: OrNull<string[]>;
  instructions: WithDefault<string>;
  tool_approval_mode: WithDefault<"default" | "always_trust">;
  permissions: JsonWithDefault<JsonObject>;
  limits: JsonWithDefault<JsonObject>;
  knowledge_bases: WithDefault<string[]>;
  sandbox: JsonWithDefault<JsonObject>;
  share_config: Json<JsonObject>;
  is_enabled: WithDefault<boolean>;
  revision: WithDefault<number>;
  created_by: OrNull<number>;
  created_at: TimeWithDefault;
  updated_at: TimeWithDefault;
}

export interface ThreadTable {
  pk: WithDefault<number>;
  user_id: number;
  id: string;
  request_id: OrNull<string>;
  /** Of its creation by that id; null where it was not kept. */
  intent_hash: OrNull<Uint8Array>;
  agent_id: number;
  title: WithDefault<string>;
  metadata: JsonWithDefault<JsonObject>;
  is_pinned: WithDefault<boolean>;
  session_id: string;
  sandbox_id: OrNull<string>;
  created_at: TimeWithDefault;
  updated_at: TimeWithDefault;
  deleted_at: OrNull<Time>;
  /** When everything that was the thread's had been removed. */
  purged_at: OrNull<Time>;
}

export interface RunRequestTable {
  pk: WithDefault<number>;
  user_id: number;
  request_id: string;
  intent_hash: Uint8Array;
  thread_pk: number;
  api_key_id: OrNull<number>;
  source: "chat" | "agent_call" | "evaluation";
  kind: "chat" | "resume";
  queue_policy: "enqueue" | "reject" | "steer";
  status: "queued" | "dispatched" | "rejected" | "cancelled" | "failed";
  revision: WithDefault<number>;
  input: Json<unknown>;
  options: JsonWithDefault<unknown>;
  planned_run_id: string;
  manifest_digest: OrNull<Uint8Array>;
  steer_target: OrNull<string>;
  handed_at: OrNull<Time>;
  error: JsonOrNull<unknown>;
  traceparent: OrNull<string>;
  created_at: TimeWithDefault;
  dispatched_at: OrNull<Time>;
  updated_at: TimeWithDefault;
}

export interface RunTable {
  id: string;
  /** Where it acted in its thread. */
  ordinal: GeneratedAlways<number>;
  request_pk: number;
  thread_pk: number;
  user_id: number;
  parent_run_id: OrNull<string>;
  status: "pending" | "running" | "cancel_requested" | "completed" | "failed" | "cancelled" | "interrupted";
  attempt: WithDefault<number>;
  stalled_attempts: WithDefault<number>;
  manifest_digest: Uint8Array;
  turn_id: OrNull<string>;
  turn_request_id: OrNull<string>;
  turn_cursor: WithDefault<number>;
  /** Since when the run is over and its turn may go on. */
  turn_left_at: OrNull<Time>;
  sandbox_id: OrNull<string>;
  sandbox_generation: OrNull<number>;
  last_seq: WithDefault<number>;
  output: OrNull<string>;
  interrupt: JsonOrNull<unknown>;
  error: JsonOrNull<unknown>;
  usage: JsonOrNull<unknown>;
  evaluation: JsonOrNull<unknown>;
  released_at: OrNull<Time>;
  released_by: OrNull<string>;
  cancel_requested_at: OrNull<Time>;
  cancelled_by: OrNull<number>;
  created_at: TimeWithDefault;
  started_at: OrNull<Time>;
  ended_at: OrNull<Time>;
  events_expire_at: OrNull<Time>;
}

export interface RunAttemptTable {
  run_id: string;
  attempt: number;
  worker: string;
  started_at: TimeWithDefault;
  ended_at: OrNull<Time>;
  from_seq: number;
  /** It moved the turn's cursor, or held the stream for long. */
  has_moved: WithDefault<boolean>;
  outcome: OrNull<"completed" | "failed" | "cancelled" | "interrupted" | "handed_over" | "lost">;
}

export interface RunEventTable {
  run_id: string;
  seq: number;
  event: "metadata" | "messages" | "custom" | "interrupt" | "error" | "end";
  payload: Json<JsonObject>;
  native: JsonOrNull<unknown>;
  created_at: TimeWithDefault;
}

export interface SandboxTable {
  id: string;
  kind: SandboxKind;
  scope_key: string;
  generation: WithDefault<number>;
  state: "starting" | "ready" | "quiescing" | "stopped" | "failed" | "deleting";
  volume: OrNull<string>;
  address: OrNull<string>;
  spec: JsonWithDefault<JsonObject>;
  last_used_at: TimeWithDefault;
  health_failures: WithDefault<number>;
  error: JsonOrNull<unknown>;
  created_at: TimeWithDefault;
  updated_at: TimeWithDefault;
}

export interface TaskTable {
  id: string;
  kind: string;
  key: OrNull<string>;
  user_id: OrNull<number>;
  name: string;
  status: "pending" | "running" | "success" | "failed" | "cancelled";
  progress: WithDefault<number>;
  message: WithDefault<string>;
  payload: Json<unknown>;
  checkpoint: JsonOrNull<unknown>;
  result: JsonOrNull<unknown>;
  error: JsonOrNull<unknown>;
  cancel_requested: WithDefault<boolean>;
  attempt: WithDefault<number>;
  /** Attempts in a row before this one that were lost and had moved nothing. */
  stalled_attempts: WithDefault<number>;
  /** Of the present attempt: it has moved progress or checkpoint, or was given to the next. */
  attempt_outcome: OrNull<"moved" | "handed_over">;
  created_at: TimeWithDefault;
  started_at: OrNull<Time>;
  completed_at: OrNull<Time>;
  updated_at: TimeWithDefault;
}

export interface WebhookTable {
  id: string;
  user_id: number;
  url: string;
  events: string[];
  secret_version: WithDefault<number>;
  is_enabled: WithDefault<boolean>;
  consecutive_failures: WithDefault<number>;
  created_at: TimeWithDefault;
}

export interface WebhookDeliveryTable {
  id: string;
  webhook_id: string;
  run_id: string;
  event: string;
  status: "pending" | "delivered" | "failed";
  attempts: WithDefault<number>;
  last_status: OrNull<number>;
  last_error: OrNull<string>;
  created_at: TimeWithDefault;
  delivered_at: OrNull<Time>;
}

export interface UsageDayTable {
  user_id: number;
  api_key_id: WithDefault<number>;
  day: string;
  runs: WithDefault<number>;
  failed_runs: WithDefault<number>;
  input_tokens: WithDefault<number>;
  cached_input_tokens: WithDefault<number>;
  output_tokens: WithDefault<number>;
  reasoning_tokens: WithDefault<number>;
  cost_usd: OrNull<string>;
}
