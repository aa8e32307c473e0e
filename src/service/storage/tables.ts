import type { GeneratedAlways } from "kysely";
import type { Given, GivenJson, GivenTime, Json, JsonObject, JsonOrNull, OrNull, Time } from "./columns.ts";
import type { KnowledgeTables } from "./knowledge-tables.ts";

export type { JsonObject } from "./columns.ts";

// Mirrors migrations/*.sql. `Given` columns have a default of the database.

export interface Database extends KnowledgeTables {
  instance: { key: string; value: Json<unknown>; updated_at: GivenTime };
  department: { id: Given<number>; name: string; created_at: GivenTime };
  account: AccountTable;
  login_failure: { bucket: string; failures: number; window_ends_at: Time };
  login_address: { user_id: number; address: string; last_at: GivenTime };
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
  id: Given<number>;
  /** Random: no other account has it, in this database or in another. */
  uid: Given<string>;
  username: string;
  display_name: Given<string>;
  password_hash: OrNull<string>;
  role: "user" | "admin" | "superadmin";
  department_id: OrNull<number>;
  is_enabled: Given<boolean>;
  epoch: Given<number>;
  quota: GivenJson<JsonObject>;
  created_by: OrNull<number>;
  created_at: GivenTime;
  updated_at: GivenTime;
  deleted_at: OrNull<Time>;
}

export interface ApiKeyTable {
  id: Given<number>;
  /** What the secret is derived from; null: version 1. */
  uid: OrNull<string>;
  user_id: number;
  request_id: string;
  intent_hash: Uint8Array;
  key_hash: Uint8Array;
  key_prefix: string;
  name: string;
  is_enabled: Given<boolean>;
  expires_at: OrNull<Time>;
  last_used_at: OrNull<Time>;
  quota: GivenJson<JsonObject>;
  source: Given<"api" | "cli">;
  department_id: OrNull<number>;
  created_by: number;
  created_at: GivenTime;
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
  created_at: GivenTime;
  expires_at: Time;
}

export interface AuditEntryTable {
  id: Given<number>;
  at: GivenTime;
  actor_id: OrNull<number>;
  credential: string;
  action: string;
  subject: string;
  ip: OrNull<string>;
  details: GivenJson<JsonObject>;
}

export interface AgentTable {
  id: Given<number>;
  slug: string;
  name: string;
  description: Given<string>;
  executor: "cli-a" | "cli-b";
  mode: "execute" | "plan" | "review" | "plan_then_execute";
  model_spec: OrNull<string>;
  allowed_models: OrNull<string[]>;
  instructions: Given<string>;
  tool_approval_mode: Given<"default" | "always_trust">;
  permissions: GivenJson<JsonObject>;
  limits: GivenJson<JsonObject>;
  knowledge_bases: Given<string[]>;
  sandbox: GivenJson<JsonObject>;
  share_config: Json<JsonObject>;
  is_enabled: Given<boolean>;
  revision: Given<number>;
  created_by: OrNull<number>;
  created_at: GivenTime;
  updated_at: GivenTime;
}

export interface ThreadTable {
  pk: Given<number>;
  user_id: number;
  id: string;
  request_id: OrNull<string>;
  /** Of its creation by that id; null where it was not kept. */
  intent_hash: OrNull<Uint8Array>;
  agent_id: number;
  title: Given<string>;
  metadata: GivenJson<JsonObject>;
  is_pinned: Given<boolean>;
  session_id: string;
  sandbox_id: OrNull<string>;
  created_at: GivenTime;
  updated_at: GivenTime;
  deleted_at: OrNull<Time>;
  /** When everything that was the thread's had been removed. */
  purged_at: OrNull<Time>;
}

export interface RunRequestTable {
  pk: Given<number>;
  user_id: number;
  request_id: string;
  intent_hash: Uint8Array;
  thread_pk: number;
  api_key_id: OrNull<number>;
  source: "chat" | "agent_call" | "evaluation";
  kind: "chat" | "resume";
  queue_policy: "enqueue" | "reject" | "steer";
  status: "queued" | "dispatched" | "rejected" | "cancelled" | "failed";
  revision: Given<number>;
  input: Json<unknown>;
  options: GivenJson<unknown>;
  planned_run_id: string;
  manifest_digest: OrNull<Uint8Array>;
  steer_target: OrNull<string>;
  handed_at: OrNull<Time>;
  error: JsonOrNull<unknown>;
  traceparent: OrNull<string>;
  created_at: GivenTime;
  dispatched_at: OrNull<Time>;
  updated_at: GivenTime;
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
  attempt: Given<number>;
  stalled_attempts: Given<number>;
  manifest_digest: Uint8Array;
  turn_id: OrNull<string>;
  turn_request_id: OrNull<string>;
  turn_cursor: Given<number>;
  /** Since when the run is over and its turn may go on. */
  turn_left_at: OrNull<Time>;
  sandbox_id: OrNull<string>;
  sandbox_generation: OrNull<number>;
  last_seq: Given<number>;
  output: OrNull<string>;
  interrupt: JsonOrNull<unknown>;
  error: JsonOrNull<unknown>;
  usage: JsonOrNull<unknown>;
  evaluation: JsonOrNull<unknown>;
  released_at: OrNull<Time>;
  released_by: OrNull<string>;
  cancel_requested_at: OrNull<Time>;
  cancelled_by: OrNull<number>;
  created_at: GivenTime;
  started_at: OrNull<Time>;
  ended_at: OrNull<Time>;
  events_expire_at: OrNull<Time>;
}

export interface RunAttemptTable {
  run_id: string;
  attempt: number;
  worker: string;
  started_at: GivenTime;
  ended_at: OrNull<Time>;
  from_seq: number;
  /** It moved the turn's cursor, or held the stream for long. */
  has_moved: Given<boolean>;
  outcome: OrNull<"completed" | "failed" | "cancelled" | "interrupted" | "handed_over" | "lost">;
}

export interface RunEventTable {
  run_id: string;
  seq: number;
  event: "metadata" | "messages" | "custom" | "interrupt" | "error" | "end";
  payload: Json<JsonObject>;
  native: JsonOrNull<unknown>;
  created_at: GivenTime;
}

export interface SandboxTable {
  id: string;
  kind: "embedded" | "static" | "docker" | "kubernetes";
  scope_key: string;
  generation: Given<number>;
  state: "starting" | "ready" | "quiescing" | "stopped" | "failed" | "deleting";
  volume: OrNull<string>;
  address: OrNull<string>;
  spec: GivenJson<JsonObject>;
  last_used_at: GivenTime;
  health_failures: Given<number>;
  error: JsonOrNull<unknown>;
  created_at: GivenTime;
  updated_at: GivenTime;
}

export interface TaskTable {
  id: string;
  kind: string;
  key: OrNull<string>;
  user_id: OrNull<number>;
  name: string;
  status: "pending" | "running" | "success" | "failed" | "cancelled";
  progress: Given<number>;
  message: Given<string>;
  payload: Json<unknown>;
  checkpoint: JsonOrNull<unknown>;
  result: JsonOrNull<unknown>;
  error: JsonOrNull<unknown>;
  cancel_requested: Given<boolean>;
  attempt: Given<number>;
  /** Attempts in a row before this one that were lost and had moved nothing. */
  stalled_attempts: Given<number>;
  /** Of the present attempt: it has moved progress or checkpoint, or was given to the next. */
  attempt_outcome: OrNull<"moved" | "handed_over">;
  created_at: GivenTime;
  started_at: OrNull<Time>;
  completed_at: OrNull<Time>;
  updated_at: GivenTime;
}

export interface WebhookTable {
  id: string;
  user_id: number;
  url: string;
  events: string[];
  secret_version: Given<number>;
  is_enabled: Given<boolean>;
  consecutive_failures: Given<number>;
  created_at: GivenTime;
}

export interface WebhookDeliveryTable {
  id: string;
  webhook_id: string;
  run_id: string;
  event: string;
  status: "pending" | "delivered" | "failed";
  attempts: Given<number>;
  last_status: OrNull<number>;
  last_error: OrNull<string>;
  created_at: GivenTime;
  delivered_at: OrNull<Time>;
}

export interface UsageDayTable {
  user_id: number;
  api_key_id: Given<number>;
  day: string;
  runs: Given<number>;
  failed_runs: Given<number>;
  input_tokens: Given<number>;
  cached_input_tokens: Given<number>;
  output_tokens: Given<number>;
  reasoning_tokens: Given<number>;
  cost_usd: OrNull<string>;
}
