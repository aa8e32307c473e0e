import { KNOWLEDGE_OPERATIONS } from "./knowledge-operations.ts";

/** What an operation is called in generated clients, and what it does beyond its summary. */
export interface OperationText {
  readonly id: string;
  readonly about: string;
}

/** One row per route, `METHOD path`; a test fails for a route without one. */
export const OPERATIONS: Readonly<Record<string, OperationText>> = {
  ...row("GET /", "getIndex", "A browser is sent to `/docs`."),
  ...row("GET /api/system/health", "getHealth", "Answers while the process runs, whatever else is down."),
  ...row("GET /api/system/ready", "getReady", "Looks at the database, the disk, the workers and their sandboxes."),
  ...row("GET /api/system/info", "getInfo", "Version, capabilities, limits, and warnings of the start."),
  ...row(
    "GET /metrics",
    "getMetrics",
    "Needs `SERVICE_METRICS_TOKEN` as Bearer. Without that setting only a service on loopback answers, to this machine.",
  ),
  ...row("GET /api/auth/check-first-run", "checkFirstRun", "True until `initialize` has made an account."),
  ...row(
    "POST /api/auth/initialize",
    "initialize",
    "Works once, while no account exists. `init_token` is needed where the service was started with one.",
  ),
  ...row(
    "POST /api/auth/token",
    "createToken",
    "JSON, or a form as of OAuth2's password grant. Too many failures lock the name at that address: 423.",
  ),
  ...row("GET /api/auth/me", "getMe", "The user, and what the call was made with: a token or a key."),
  ...row("PUT /api/auth/me/password", "changePassword", "Ends all tokens given out before."),
  ...row("POST /api/auth/logout", "logOut", "Ends all tokens of the user; keys go on."),
  ...row("GET /api/auth/users", "listUsers", "Superadmins see all, admins the users of their department."),
  ...row("POST /api/auth/users", "createUser", "Superadmins make any; admins make users of their department."),
  ...row("GET /api/auth/users/{user_id}", "getUser", "Oneself, or a user whom one manages."),
  ...row(
    "PUT /api/auth/users/{user_id}",
    "updateUser",
    "Only fields that are given change. A new password, and disabling, end the user's tokens.",
  ),
  ...row(
    "DELETE /api/auth/users/{user_id}",
    "deleteUser",
    "Keys and tokens end at once, runs are cancelled. What the user did stays in the audit.",
  ),
  ...row("GET /api/departments", "listDepartments", "All departments, for every user."),
  ...row("POST /api/departments", "createDepartment", "Superadmins only."),
  ...row("PUT /api/departments/{department_id}", "updateDepartment", "Superadmins only."),
  ...row(
    "DELETE /api/departments/{department_id}",
    "deleteDepartment",
    "Superadmins only; 409 while users or keys are in it.",
  ),
  ...row("GET /api/audit", "listAudit", "Superadmins only. `before` is the id of the last entry of the page before."),
  ...row(
    "GET /api/user/apikey",
    "listApiKeys",
    "Keys that are not revoked: superadmins see all, admins those of users they manage, others their own.",
  ),
  ...row(
    "POST /api/user/apikey",
    "createApiKey",
    "Idempotent for each user and `request_id`: the same intent gives the same record and the same secret.",
  ),
  ...row("GET /api/user/apikey/{api_key_id}", "getApiKey", "Never shows the secret. A revoked key is gone."),
  ...row(
    "PUT /api/user/apikey/{api_key_id}",
    "updateApiKey",
    "null is unchanged; `clear_expires_at` takes the expiry away.",
  ),
  ...row(
    "DELETE /api/user/apikey/{api_key_id}",
    "revokeApiKey",
    "The secret stops working at once and for good. Safe to repeat.",
  ),
  ...row(
    "POST /api/auth/cli/sessions",
    "startCliSession",
    "Show `user_code` and `verification_uri` to the person, then poll the token route every `interval` seconds.",
  ),
  ...row(
    "POST /api/auth/cli/sessions/token",
    "exchangeCliSession",
    "400 `authorization_pending` until the person has decided. A repeat within the time gives the same key.",
  ),
  ...row(
    "GET /api/auth/cli/sessions/{user_code}",
    "getCliSession",
    "What asks, and from where. Ten wrong codes of an account in a minute: 429.",
  ),
  ...row(
    "POST /api/auth/cli/sessions/{user_code}/approve",
    "approveCliSession",
    "The client then gets a key of the caller's.",
  ),
  ...row("POST /api/auth/cli/sessions/{user_code}/deny", "denyCliSession", "The client gets `access_denied`."),
  ...row("GET /api/agents", "listAgents", "Agents that the caller may use."),
  ...row(
    "POST /api/agents",
    "createAgent",
    "Admins and superadmins. Without `share_config` all may use it and only its maker manages it.",
  ),
  ...row("GET /api/agents/{slug}", "getAgent", "404 for an agent that is not shared with the caller."),
  ...row(
    "PUT /api/agents/{slug}",
    "updateAgent",
    "`revision` must be the present one. Slug and executor cannot change.",
  ),
  ...row("DELETE /api/agents/{slug}", "deleteAgent", "409 while it has threads: disable it instead."),
  ...row("POST /api/chat/thread", "createThread", "With a `request_id` a repeat gives the same thread."),
  ...row("GET /api/chat/threads", "listThreads", "Pinned ones first, then the latest used. `q` looks in titles."),
  ...row("GET /api/chat/thread/{thread_id}", "getThread", "`status` is the state of its queue."),
  ...row("PUT /api/chat/thread/{thread_id}", "updateThread", "Only fields that are given change."),
  ...row(
    "DELETE /api/chat/thread/{thread_id}",
    "deleteThread",
    "409 while a run blocks it; what waits in it is cancelled.",
  ),
  ...row(
    "GET /api/chat/thread/{thread_id}/history",
    "getThreadHistory",
    "`before` is a run id; without it the newest page.",
  ),
  ...row(
    "GET /api/chat/thread/{thread_id}/state",
    "getThreadState",
    "Thread, queue and the run that blocks it, in one call.",
  ),
  ...row("GET /api/agent/thread/{thread_id}/requests", "getThreadQueue", "In the order in which they will run."),
  ...row(
    "GET /api/agent/thread/{thread_id}/active_run",
    "getActiveRun",
    "`run` is null when nothing blocks the thread.",
  ),
  ...row(
    "POST /api/agent/thread/{thread_id}/requests/continue",
    "continueThread",
    "After a failed or cancelled run the queue waits for this call.",
  ),
  ...row(
    "POST /api/agent/runs",
    "submitRun",
    "Idempotent for each user and `meta.request_id`. `stream_url` is there once the request has a run, `request_events_url` while it waits.",
  ),
  ...row(
    "GET /api/agent/runs",
    "listRuns",
    "The caller's own. `before` is the run id of the last one of the page before.",
  ),
  ...row("GET /api/agent/runs/{run_id}", "getRun", "Another user's run is not found."),
  ...row(
    "GET /api/agent/runs/{run_id}/result",
    "getRunResult",
    "Reads, never runs again. `final` is false before the end.",
  ),
  ...row(
    "POST /api/agent/runs/{run_id}/cancel",
    "cancelRun",
    "An ended run stays as it is; an interrupted one is given up. Confirmed by the run's `end`.",
  ),
  ...row(
    "GET /api/agent/runs/{run_id}/events",
    "followRun",
    "Server-sent events: `id` is the event's `seq`, the last one is `end`. Go on with `Last-Event-ID` or `after_seq`. Pages of JSON with `format=json` or `Accept: application/json`: at most `limit` events, fewer where they are large; `has_more` says whether there are more.",
  ),
  ...row(
    "GET /api/agent/requests/{request_id}",
    "getRequest",
    "The authoritative state of a request, whatever its submission answered.",
  ),
  ...row(
    "POST /api/agent/requests/{request_id}/cancel",
    "cancelRequest",
    "Only while it waits; a request with a run is cancelled by that.",
  ),
  ...row(
    "POST /api/agent/requests/{request_id}/steer",
    "steerRequest",
    "It then stops the running run at its next step and goes on from there.",
  ),
  ...row(
    "GET /api/agent/requests/{request_id}/events",
    "followRequest",
    "Its present state at once, then each change; ends after `run_created`, `cancelled`, `rejected` or `failed`.",
  ),
  ...row(
    "POST /api/agent-invocation/agent-call/runs",
    "callAgent",
    "Waits for the end, unless `async_mode`; beyond the wait 504 with `detail.run`, and the run goes on. The answer's `choices` are those of a chat completion.",
  ),
  ...row(
    "POST /api/agent-invocation/agent-call/runs/result",
    "getCallResult",
    "Any run of the caller's; before its end with its present status.",
  ),
  ...row(
    "POST /api/agent-invocation/eval/runs",
    "runEvaluation",
    "Answers the run's result, and a summary of its first 500 events if wanted; null once the events were deleted.",
  ),
  ...row(
    "GET /api/tasks",
    "listTasks",
    "The caller's own and those on knowledge bases one manages; superadmins see all.",
  ),
  ...row("GET /api/tasks/{task_id}", "getTask", "Progress, checkpoint and result of background work."),
  ...row("DELETE /api/tasks/{task_id}", "deleteTask", "409 while it has not ended."),
  ...row(
    "POST /api/tasks/{task_id}/cancel",
    "cancelTask",
    "It ends at its next step; a task that has ended stays as it is.",
  ),
  ...row("GET /api/webhooks", "listWebhooks", "The caller's own."),
  ...row(
    "POST /api/webhooks",
    "createWebhook",
    "The secret is shown here and after `rotate_secret` alone. Addresses that are not public are refused.",
  ),
  ...row("GET /api/webhooks/{webhook_id}", "getWebhook", "Without its secret."),
  ...row(
    "PUT /api/webhooks/{webhook_id}",
    "updateWebhook",
    "Only fields that are given change; `rotate_secret` makes a new secret and shows it.",
  ),
  ...row("DELETE /api/webhooks/{webhook_id}", "deleteWebhook", "Its deliveries end with it."),
  ...row(
    "GET /api/webhooks/{webhook_id}/deliveries",
    "listDeliveries",
    "What was sent, how often, and the last answer.",
  ),
  ...row("GET /api/usage", "getUsage", "By days of UTC. Another user's only for those who manage that user."),
  ...Object.fromEntries(Object.entries(KNOWLEDGE_OPERATIONS).map(([route, [id, about]]) => [route, { id, about }])),
};

function row(route: string, id: string, about: string): Record<string, OperationText> {
  return { [route]: { id, about } };
}

/** The groups of routes. */
export const TAGS: Readonly<Record<string, string>> = {
  system: "Health, readiness and what this service is.",
  auth: "Logging in, and who one is.",
  users: "Users, departments and the audit.",
  keys: "API keys.",
  cli: "Logging a command-line client in, approved by a person in a browser.",
  agents: "What runs work with.",
  threads: "Conversations, and what waits in them.",
  runs: "Runs and their events.",
  requests: "Accepted requests, before and after they have a run.",
  "agent-calls": "Agents called with OpenAI-style messages.",
  evaluations: "Runs of evaluation samples.",
  "knowledge-bases": "Records of knowledge bases, for those who manage them.",
  "knowledge-files": "Originals, before they are documents of a knowledge base.",
  "knowledge-documents": "Documents of a knowledge base: add, parse, index, read back, delete.",
  "knowledge-queries": "Queries over knowledge bases, for every user who may read them.",
  tasks: "Background work.",
  webhooks: "Subscriptions to the ends of runs.",
  usage: "What runs have cost.",
};

/** Routes where the header `Idempotency-Key` is the request's id. */
export const IDEMPOTENT: readonly string[] = [
  "POST /api/user/apikey",
  "POST /api/chat/thread",
  "POST /api/agent/runs",
  "POST /api/agent-invocation/agent-call/runs",
  "POST /api/agent-invocation/eval/runs",
];
