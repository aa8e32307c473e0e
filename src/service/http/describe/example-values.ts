import type { ExampleValues } from "../../../kit/http/openapi/examples.ts";

const RUN = "01938b5e-7d3c-7000-8000-000000000001";

/** What a field of a name looks like; used where it fits the field's schema. */
const FIELDS: Readonly<Record<string, unknown>> = {
  access_token: "eyJhbGciOiJIUzI1NiJ9.e30.signature",
  action: "key.created",
  agent_id: "cli-b",
  agent_run_id: RUN,
  agent_slug: "cli-b",
  attempts: 1,
  client_name: "svc",
  content: "List the files.",
  credential: "jwt",
  day: "2026-01-02",
  device_code: "Zm9yIHRoZSBkZXZpY2UgYWxvbmU",
  display_name: "Ada Lovelace",
  event: "run.completed",
  executor: "cli-b",
  expires_in: 604_800,
  finish_reason: "stop",
  ip: "127.0.0.1",
  kb_id: "kb_0197f6f0c1a24d2e8b3c5d6e7f809a1b",
  key_prefix: "svkey_324e24",
  knowledge_bases: "kb_0197f6f0c1a24d2e8b3c5d6e7f809a1b",
  last_seq: 12,
  limit: 100,
  limits: { max_queued: 100 },
  message: "what happened, in a sentence",
  allowed_models: "openai:gpt-5",
  model_spec: "openai:gpt-5",
  msg: "what is wrong, in a sentence",
  name: "ci",
  new_password: "correct horse battery staple",
  old_password: "correct horse battery",
  output: "Done.",
  password: "correct horse battery",
  query: "List the files.",
  request_id: "request-0001",
  role: "user",
  run_id: RUN,
  secret: "svkey_324e24e0864b82a2c2bfaea0ca815cf47d9d85be115944f7",
  slug: "cli-b",
  state: "pending",
  status: "completed",
  stream_url: `/api/agent/runs/${RUN}/events`,
  subject: "api_key:1",
  thread_id: "thread-0001",
  title: "A first thread",
  total: 1,
  url: "https://example.org/hook",
  user_code: "ABCD-EFGH",
  username: "ada",
  verification_uri: "http://localhost:5050/cli",
  verification_uri_complete: "http://localhost:5050/cli?code=ABCD-EFGH",
  version: "0.1.0",
};

/** Optional fields that show what a schema is for; the other optional ones are left out. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  SubmitRunBody: ["query", "meta", "queue_policy"],
  CreateKeyBody: ["request_id"],
  CreateUserBody: ["display_name"],
  CreateThreadBody: ["title"],
  UpdateThreadBody: ["title"],
  UpdateUserBody: ["display_name"],
  UpdateKeyBody: ["name"],
  UpdateWebhookBody: ["is_enabled"],
  CreateWebhookBody: ["events"],
  CliSessionBody: ["client_name"],
  AgentCallBody: ["agent_slug", "request_id"],
  EvaluationBody: ["evaluation"],
  Evaluation: ["dataset_name", "dataset_item_id"],
};

/** Whole values of a schema's fields, where a name is not enough. */
const WHOLE: Readonly<Record<string, unknown>> = {
  "SubmitRunBody.meta": { request_id: "request-0001" },
  "AgentCallBody.messages": [{ role: "user", content: "List the files." }],
};

export const EXAMPLE_VALUES: ExampleValues = {
  at: "2026-01-02T03:04:05.678Z",
  uuid: RUN,
  fields: FIELDS,
  shown: SHOWN,
  whole: WHOLE,
};
