import { expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Ending } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";

const THREAD = "01a2180b-f041-7f01-aa32-0109ef44bb6e";
const ROLLOUT = `/home/sandbox/codex/sessions/2026/11/26/rollout-2026-11-26T13-29-25-${THREAD}.jsonl`;
const READ = "failed to read thread: thread-store internal error: failed to read session metadata";
const BUSY =
  "2026-11-26T13:29:32.097487Z ERROR codex_config::loader::layer_io: Failed to read /etc/codex/managed_config.toml";

/** A process that was to continue a thread, printed nothing, and ended so. */
function resume(stderr: readonly string[], code = 1): Ending {
  const translator = cliB.createTranslator({ requestedSession: THREAD });
  stderr.forEach((text, index) => translator.push({ source: "stderr", number: index + 1, text, isTruncated: false }));
  return translator.end({ exit: { code, signal: null }, wasStopped: false });
}

/** What both measured versions print, with the fault made for it; the first text is 0.139.0's where they differ. */
const KEPT: readonly (readonly [string, string, ...string[]])[] = [
  [
    "config_invalid",
    "error resuming thread: Fatal error: Failed to initialize session: required MCP servers failed to initialize: need: handshaking with MCP server failed: connection closed: initialize response (code -32603)",
  ],
  [
    "config_invalid",
    "error resuming thread: Fatal error: Failed to initialize session: required MCP servers failed to initialize: need: No such file or directory (os error 2) (code -32603)",
  ],
  [
    "storage_error",
    `failed to read thread: thread-store internal error: failed to read thread ${ROLLOUT}: Permission denied (os error 13) (code -32603)`,
  ],
  ["storage_error", `${READ} ${ROLLOUT}: Permission denied (os error 13) (code -32603)`],
  ["storage_error", `failed to locate thread id ${THREAD}: Permission denied (os error 13) (code -32600)`],
  [
    "storage_error",
    "error resuming thread: Fatal error: Failed to initialize session: thread-store internal error: failed to resume local thread recorder: Permission denied (os error 13) (code -32603)",
  ],
  ["storage_error", "list_turns is not supported yet (code -32601)"],
  [
    "storage_error",
    "failed to list thread history: thread-store internal error: failed to open thread history database: failed to open thread history DB at /home/sandbox/codex/thread_history_1.sqlite: error returned from database: (code: 14) unable to open database file (code -32603)",
    `${BUSY}: No file descriptors available (os error 24)`,
  ],
  ["storage_error", `thread ${THREAD} already has an active writer (code -32600)`],
  // Of the same kind, not made in the laboratory.
  [
    "config_invalid",
    'failed to load configuration: invalid type: string "x", expected u32 in `model_context_window` (code -32600)',
  ],
  ["storage_error", "error resuming thread: Fatal error: No space left on device (os error 28) (code -32603)"],
  ["storage_error", "error resuming thread: Fatal error: Read-only file system (os error 30) (code -32603)"],
  ["storage_error", `${READ} ${ROLLOUT}: Input/output error (os error 5) (code -32603)`],
  ["resources_exhausted", "error resuming thread: Fatal error: Too many open files (os error 24) (code -32603)"],
  ["resources_exhausted", "error resuming thread: Fatal error: Cannot allocate memory (os error 12) (code -32603)"],
  ["crashed", "error resuming thread: Fatal error: something of a later version (code -32603)"],
];

test.each(KEPT)("a resume that fails as %s keeps the thread: %s", (code, message, ...before) => {
  const { failure } = resume([...before, `Error: thread/resume: thread/resume failed: ${message}`]);
  expect(failure).toMatchObject({ code, isProven: true });
});

test.each([
  `no rollout found for thread id ${THREAD} (code -32600)`,
  `${READ} ${ROLLOUT}: rollout at ${ROLLOUT} is empty (code -32603)`,
  `${READ} ${ROLLOUT}: rollout at ${ROLLOUT} does not start with session metadata (code -32603)`,
  `failed to read thread: thread-store internal error: failed to read thread ${ROLLOUT}: rollout at ${ROLLOUT} does not start with session metadata (code -32603)`,
  `${READ} ${ROLLOUT}: Is a directory (os error 21) (code -32603)`,
  `${READ} ${ROLLOUT}: No such file or directory (os error 2) (code -32603)`,
  `session ${THREAD} is archived. Run \`codex unarchive ${THREAD}\` to unarchive it first. (code -32600)`,
])("a history that is missing or cannot be read is given up: %s", (message) => {
  expect(resume([`Error: thread/resume: thread/resume failed: ${message}`]).failure?.code).toBe("resume_degraded");
});

test.each([
  ["nothing on stderr", [], 1, "crashed"],
  ["words of no rule", ["Error: something odd"], 1, "crashed"],
  ["exit code 0", [], 0, "output_incomplete"],
  [
    "a home that cannot be written",
    ["Error: failed to initialize in-process app-server client: Permission denied (os error 13)"],
    1,
    "storage_error",
  ],
  [
    "a configuration that cannot be read",
    [
      "Error loading config.toml: Failed to read config file /home/sandbox/codex/config.toml: Permission denied (os error 13)",
    ],
    1,
    "config_invalid",
  ],
] as const)("a resume that ends with %s is no lost thread", (_, stderr, code, expected) => {
  expect(resume(stderr, code).failure?.code).toBe(expected);
});
