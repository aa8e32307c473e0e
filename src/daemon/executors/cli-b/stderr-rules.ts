import type { Fact, FailureRule } from "../rules.ts";

/** What a fact says, short and on one line, for a message. */
export function quote(fact: Fact): string {
  return fact.text.replace(/\s+/g, " ").trim().slice(0, 300);
}

/** What CLI B says on stderr when it cannot start, or cannot go on. Source: contract sections 3, 4 and 6. */
export const STDERR_RULES: readonly FailureRule[] = [
  {
    id: "resume-failed",
    on: "stderr",
    pattern: /thread\/resume failed/,
    code: "resume_degraded",
    message: (fact) => `CLI B cannot continue the session: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/resume-other-home",
  },
  {
    id: "wire-api",
    on: "stderr",
    pattern: /`wire_api = "chat"` is no longer supported|unknown variant .* expected `responses`/,
    code: "executor_unavailable",
    message: 'CLI B speaks the Responses API alone: set wire_api = "responses" and a provider that has it.',
    seenIn: "cli-b/0.139.0/wire-api-chat",
  },
  {
    id: "no-git-repository",
    on: "stderr",
    pattern: /Not inside a trusted directory/,
    code: "invalid_request",
    message: "CLI B refused to run outside a git repository.",
    seenIn: "cli-b/0.139.0/not-a-git-repository",
  },
  {
    id: "no-prompt",
    on: "stderr",
    pattern: /No prompt provided/,
    code: "invalid_request",
    message: "CLI B got no prompt.",
    seenIn: "cli-b/0.139.0/resume-without-prompt",
  },
  {
    id: "input-too-large",
    on: "stderr",
    pattern: /input_too_large|Input exceeds the maximum length/,
    code: "invalid_request",
    message: "The input is longer than the 1 048 576 characters CLI B takes.",
    seenIn: "cli-b/0.139.0/prompt-too-large",
  },
  {
    id: "arguments",
    on: "stderr",
    pattern: /^error: (?:unexpected argument|invalid value|the argument|a value is required|unrecognized subcommand)/,
    code: "invalid_request",
    message: (fact) => `CLI B does not take these arguments: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/unknown-flag",
  },
  {
    id: "review-target",
    on: "stderr",
    pattern: /Specify --uncommitted, --base, --commit/,
    code: "invalid_request",
    message: "CLI B was not told what to review.",
    seenIn: "cli-b/0.139.0/review-without-target",
  },
  {
    id: "output-schema",
    on: "stderr",
    pattern: /Output schema file .* is not valid JSON|Failed to read output schema file/,
    code: "invalid_request",
    message: "CLI B cannot read the output schema.",
    seenIn: "cli-b/0.139.0/output-schema-invalid",
  },
  {
    id: "config",
    on: "stderr",
    pattern: /Error loading config|Model provider .* not found|Error finding \S+ home|required MCP servers failed/,
    code: "config_invalid",
    message: (fact) => `CLI B refuses its configuration: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/config-not-toml",
  },
  {
    id: "disk-full",
    on: "stderr",
    pattern: /No space left on device|Disk quota exceeded|error_kind=StorageFull/,
    code: "storage_error",
    message: "The disk of the session's home is full.",
    seenIn: "cli-b/0.139.0/disk-full-at-start",
  },
  {
    id: "home-unwritable",
    on: "stderr",
    pattern: /failed to initialize in-process app-server client: |Read-only file system \(os error 30\)/,
    code: "storage_error",
    message: (fact) => `CLI B cannot write to the session's home: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/home-unwritable",
  },
  {
    id: "workspace-missing",
    on: "stderr",
    pattern: /^Error: No such file or directory \(os error 2\)/,
    code: "invalid_request",
    message: "The working directory does not exist.",
    seenIn: "cli-b/0.139.0/workspace-missing",
  },
  {
    id: "panic",
    on: "stderr",
    pattern: /^thread '.*panicked at/,
    code: "crashed",
    message: (fact) => `CLI B panicked: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/panic-reader-gone",
  },
];
