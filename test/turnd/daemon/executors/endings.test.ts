import { describe, expect, test } from "vitest";
import { cliA } from "../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { cliB } from "../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { FailureDraft } from "../../../../src/turnd/daemon/executors/contract/failures.ts";
import type { Outcome } from "../../../../src/turnd/daemon/executors/contract/translator.ts";
import { error, stepFinish, stepStart, tool, translate } from "./cli-a/lines.ts";

const SESSIONS = {
  "cli-a": "ses_e02e5a526ffe2BVx71Fctcaay6",
  "cli-b": "01a1fd1a-5463-7e72-9eca-765c0aaffeed",
} as const;

describe.each([
  { executor: cliA, session: SESSIONS["cli-a"] },
  { executor: cliB, session: SESSIONS["cli-b"] },
])("$executor.id", ({ executor, session }) => {
  function explain(
    exit: Outcome["exit"],
    {
      stderr = [],
      isResume = false,
      wasStopped = false,
    }: { stderr?: string[]; isResume?: boolean; wasStopped?: boolean } = {},
  ): FailureDraft | undefined {
    const translator = executor.createTranslator({ requestedSession: isResume ? session : null });
    stderr.forEach((text, index) => translator.push({ source: "stderr", number: index + 1, text, isTruncated: false }));
    return translator.end({ exit, wasStopped }).failure;
  }
  const exited = (code: number): Outcome["exit"] => ({ code, signal: null });

  test.each(["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGTRAP"])("%s is the CLI's own crash", (signal) => {
    expect(explain({ code: null, signal })).toMatchObject({ code: "crashed", rule: "exit-fault", isProven: true });
  });

  test.each(["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"])("%s that turnd did not send came from outside", (signal) => {
    expect(explain({ code: null, signal })).toMatchObject({ code: "crashed", rule: "exit-signal", isProven: true });
  });

  test.each([
    [137, "signal 9"],
    [139, "signal 11"],
    [143, "signal 15"],
  ])("exit code %i is a shell's word for a signal", (code, words) => {
    expect(explain(exited(code))).toMatchObject({ code: "crashed", message: expect.stringContaining(words) });
  });

  test.each([1, 3, 7, 255])("exit code %i without output is an unexplained crash", (code) => {
    expect(explain(exited(code))).toMatchObject({ code: "crashed", rule: "unexplained-exit", isProven: false });
  });

  test("an unknown error is quoted", () => {
    const stderr = ["Error: the moon is full"];
    expect(explain(exited(1), { stderr })).toMatchObject({
      code: "crashed",
      isProven: false,
      evidence: [{ source: "stderr", line: 1, text: "Error: the moon is full" }],
    });
  });

  test("an unexplained end of a resume that never answered is no lost session: its cause may pass", () => {
    expect(explain(exited(1), { isResume: true })?.code).toBe("crashed");
    expect(explain(exited(1), { isResume: true, stderr: ["Error: the moon is full"] })?.code).toBe("crashed");
  });

  test("neither an exit nor a signal decides when turnd ended the process", () => {
    expect(explain({ code: null, signal: "SIGSEGV" }, { wasStopped: true })).toMatchObject({ isProven: false });
    expect(explain(exited(137), { wasStopped: true })).toMatchObject({ isProven: false });
  });

  test("exit code 0 with nothing printed is an output that is not complete", () => {
    expect(explain(exited(0))).toMatchObject({ code: "output_incomplete", isProven: false });
  });
});

/** What each CLI says at its start, as families: paths, versions and the words around differ. */
describe.each([
  {
    executor: cliA,
    families: [
      ["EACCES: permission denied, mkdir '/x/opencode'", "storage_error"],
      ["EROFS: read-only file system, mkdir '/x/opencode'", "storage_error"],
      ["ENOSPC: no space left on device, write", "storage_error"],
      ["Failed to run the query 'CREATE TABLE x'", "storage_error"],
      ["SQLiteError: database disk image is malformed", "storage_error"],
      ["SQLiteError: disk I/O error", "storage_error"],
      ["Error: Config file at /x/config.json is not valid JSON(C):", "config_invalid"],
      ["Error: Configuration is invalid at /x/config.json", "config_invalid"],
      ["BadResource: FileSystem.readFile (/x/opencode/config.json)", "config_invalid"],
      ["Error: You must provide a message or a command", "invalid_request"],
      ["Error: --fork requires --continue or --session", "invalid_request"],
      ["Error: --interactive cannot be used with --format json", "invalid_request"],
      ["Error: Failed to change directory to /x", "invalid_request"],
      ["Unknown argument: nope", "invalid_request"],
      ["The current working directory was deleted, so that command didn't work.", "executor_unavailable"],
      ["error while loading shared libraries: libstdc++.so.6", "executor_unavailable"],
      ["/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found", "executor_unavailable"],
      ["panic(main thread): Segmentation fault at address 0x0", "crashed"],
      ["TypeError: undefined is not an object (evaluating 'a.b')", "crashed"],
      ["error: ConnectionRefused downloading package manifest @opencode-ai/plugin", "crashed"],
    ],
  },
  {
    executor: cliB,
    families: [
      ["Error: failed to initialize in-process app-server client: Permission denied (os error 13)", "storage_error"],
      [
        "Error: failed to initialize in-process app-server client: No space left on device (os error 28)",
        "storage_error",
      ],
      ["Error: Read-only file system (os error 30)", "storage_error"],
      ["Error loading config.toml: unknown configuration field `x`", "config_invalid"],
      ["Error loading configuration: unknown variant `x`, expected one of `never`, `on-request`", "config_invalid"],
      ['Error finding codex home: CODEX_HOME points to "/x", but that path does not exist', "config_invalid"],
      ["Error: Model provider `nope` not found", "config_invalid"],
      ['Error: approval_policy = "untrusted" is no longer supported; remove this setting', "config_invalid"],
      [
        "Error: `experimental_thread_store_endpoint` is no longer supported; remove it from config.toml",
        "config_invalid",
      ],
      [
        'Error: legacy `profile = "fast"` config is no longer supported; use `--profile fast` with `fast.config.toml` instead',
        "config_invalid",
      ],
      ["Error: `ollama-chat` is no longer supported.", "config_invalid"],
      ["Error: agents.max_concurrent_threads_per_session must be at least 1", "config_invalid"],
      ["Error: default_permissions requires a `[permissions]` table", "config_invalid"],
      ["Error: Unknown feature flag: nosuch", "config_invalid"],
      [
        "Error: No default OSS provider configured. Use --local-provider=provider or set oss_provider to one of: lmstudio, ollama in config.toml",
        "config_invalid",
      ],
      [
        "Error: thread/start: thread/start failed: No models are available. Set `model` explicitly or check your model catalog configuration. (code -32600)",
        "config_invalid",
      ],
      [
        "Error: failed to read model instructions file /nowhere.md: No such file or directory (os error 2)",
        "config_invalid",
      ],
      [
        "Error: exec-server protocol error: failed to parse environment config `/x/environments.toml`: unquoted keys cannot be empty",
        "config_invalid",
      ],
      ["Error loading rules:", "config_invalid"],
      ['Error: Failed to open last message file "/x/y": No such file or directory (os error 2)', "invalid_request"],
      [
        "Error: thread/fork: thread/fork failed: no rollout found for thread id 01a1fd1a-5463-7e72-9eca-765c0aaffeed (code -32600)",
        "resume_degraded",
      ],
      ["Error: thread/start: thread/start failed: Operation not permitted (code -32603)", "crashed"],
      ["Error: the moon must be full", "crashed"],
      ['Error loading config.toml: `wire_api = "chat"` is no longer supported.', "executor_unavailable"],
      ["Error loading config.toml: unknown variant `websocket`, expected `responses`", "executor_unavailable"],
      ["Failed to read output schema file /x: No such file or directory (os error 2)", "invalid_request"],
      ["Error: No such file or directory (os error 2)", "invalid_request"],
      ["Error: Permission denied (os error 13)", "invalid_request"],
      ["error: unexpected argument '--nope' found", "invalid_request"],
      ["error: the following required arguments were not provided:", "invalid_request"],
      ["Not inside a trusted directory and --skip-git-repo-check was not specified.", "invalid_request"],
      ["thread 'main' panicked at core/src/x.rs:1:1:", "crashed"],
    ],
  },
])("$executor.id at its start", ({ executor, families }) => {
  test.each(families)("%j is %s", (text, code) => {
    const translator = executor.createTranslator({ requestedSession: null });
    translator.push({ source: "stderr", number: 1, text, isTruncated: false });
    expect(translator.end({ exit: { code: 1, signal: null }, wasStopped: false }).failure?.code).toBe(code);
  });
});

describe("cli-a that ends between two steps", () => {
  const explain = (stderr: string[], outcome: { code: number; wasStopped?: boolean; last?: string }) => {
    const records = [stepStart(), tool("bash", { status: "completed", output: "ok" }), stepFinish("tool-calls")];
    const { code, wasStopped = false, last = [] } = outcome;
    const lines = [...records, ...stderr.map((err) => ({ err })), last].flat();
    return translate(lines, { exit: { code, signal: null }, wasStopped }).ending.failure;
  };

  test.each([
    ["Error: ENOSPC: no space left on device, write", "storage_error", true],
    ["SQLiteError: database or disk is full", "storage_error", true],
    ["panic(main thread): Segmentation fault at address 0x0", "crashed", true],
    ["Error: the moon is full", "crashed", false],
  ])("and prints %j is classified by it", (text, code, isProven) => {
    const noise = Array.from({ length: 300 }, (_, index) => `notice ${index}`);
    expect(explain([...noise, text, "      at x (/$bunfs/root/a.js:1:2)"], { code: 1 })).toMatchObject({
      code,
      isProven,
      evidence: [{ source: "stderr", line: 301, text }],
    });
  });

  test("and prints nothing has crashed", () => {
    expect(explain([], { code: 1 })).toMatchObject({ code: "crashed", rule: "unexplained-exit", isProven: false });
  });

  test("and printed an unknown error is quoted", () => {
    const last = error("UnknownError", { message: "the moon is full" });
    const failure = explain([], { code: 1, last });
    expect(failure).toMatchObject({ code: "unknown", message: expect.stringContaining("the moon is full") });
  });

  test("stderr proves nothing then where it exits with 0, or turnd stopped it", () => {
    const words = ["Error: ENOSPC: no space left on device, write"];
    expect(explain(words, { code: 0 })).toMatchObject({ code: "output_incomplete", isProven: false });
    expect(explain(words, { code: 1, wasStopped: true })).toMatchObject({ isProven: false });
  });
});
