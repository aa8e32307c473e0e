import { quote } from "../../classification/rules.ts";
import type { FailureRule } from "../../contract/failures.ts";
import { START_UP } from "./facts.ts";
import { RESUME_RULES } from "./resume-rules.ts";

/** Rules that hold at any time; all others only before the first record. */
const ANY_TIME: ReadonlySet<string> = new Set(["input-too-large", "disk-full", "home-unwritable"]);

/** What CLI B says on stderr when it cannot start, or cannot go on. Source: docs/contracts/cli-b.md §3, §4, §6. */
export const STDERR_RULES: readonly FailureRule[] = list().map((rule) =>
  ANY_TIME.has(rule.id) ? rule : { ...rule, name: new RegExp(`^${START_UP}$`) },
);

function list(): readonly FailureRule[] {
  return [
    ...RESUME_RULES,
    {
      id: "wire-api",
      on: "stderr",
      pattern: /`wire_api = "chat"` is no longer supported|unknown variant .{0,200} expected `responses`/,
      code: "executor_unavailable",
      message: "CLI B speaks the Responses API alone, and its configuration asks for another one.",
      remedy: 'set wire_api = "responses" and a provider that has it',
      seenIn: "cli-b/0.139.0/wire-api-chat",
    },
    {
      id: "no-git-repository",
      on: "stderr",
      pattern: /Not inside a trusted directory/,
      code: "invalid_request",
      message: "CLI B refused to run outside a git repository.",
      remedy: "choose a workspace that is one",
      seenIn: "cli-b/0.139.0/not-a-git-repository",
    },
    {
      id: "no-prompt",
      on: "stderr",
      pattern: /No prompt provided/,
      code: "invalid_request",
      message: "CLI B got no prompt.",
      remedy: "give the turn an input",
      seenIn: "cli-b/0.139.0/resume-without-prompt",
    },
    {
      id: "prompt-not-text",
      on: "stderr",
      pattern: /Failed to read prompt from stdin|input is not valid UTF-8/,
      code: "invalid_request",
      message: "The prompt is not UTF-8.",
      remedy: "send the input as UTF-8",
      seenIn: "cli-b/0.169.0/prompt-not-utf-8",
    },
    {
      id: "input-too-large",
      on: "stderr",
      pattern: /input_too_large|Input exceeds the maximum length/,
      code: "invalid_request",
      message: "The input is longer than the 1 048 576 characters CLI B takes.",
      remedy: "shorten it",
      seenIn: "cli-b/0.139.0/prompt-too-large",
    },
    {
      id: "arguments",
      on: "stderr",
      pattern:
        /^error: (?:unexpected argument|invalid value|the argument|the following required arguments|a value is required|unrecognized subcommand)|^Error: Failed to open last message file/,
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
      remedy: "name what to review",
      seenIn: "cli-b/0.139.0/review-without-target",
    },
    {
      id: "output-schema",
      on: "stderr",
      pattern: /Output schema file .{0,2000} is not valid JSON|Failed to read output schema file/,
      code: "invalid_request",
      message: "CLI B cannot read the output schema.",
      remedy: "correct the request's output_schema",
      seenIn: "cli-b/0.139.0/output-schema-invalid",
    },
    {
      id: "config",
      on: "stderr",
      pattern: /Error (?:loading config|parsing -c overrides)|Model provider .{0,200} not found|Error finding \S+ home/,
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
      pattern: /^Error: (?:No such file or directory|Permission denied|Not a directory) \(os error \d+\)/,
      code: "invalid_request",
      message: (fact) => `CLI B cannot enter the working directory: ${quote(fact)}`,
      remedy: "choose a workspace that exists and can be entered",
      seenIn: "cli-b/0.139.0/workspace-missing",
    },
    {
      // A complaint that names a setting, or a file that a setting names: these come without "Error loading config".
      id: "setting",
      on: "stderr",
      pattern:
        /^Error: (?:.{0,200} (?:is|are) no longer supported\b|(?:`[^`]{1,100}`|\w+[._][\w.]+) (?:must|requires|cannot|conflicts)\b|Unknown feature flag|No default OSS provider|.{0,200}\bSet `\w+` explicitly|(?:[\w -]{1,60}: )?failed to (?:read|parse|load) [\w ]{0,60}\b(?:file|config)\b)|^Error loading rules:/,
      code: "config_invalid",
      message: (fact) => `CLI B refuses a setting: ${quote(fact)}`,
      seenIn: "cli-b/0.169.0/setting-gone",
    },
  ];
}
