import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { awaitExit, endingWithParent } from "./await-exit.ts";
import type { Case } from "./provider.ts";

/** One version of a CLI. */
export interface Cli {
  readonly executor: "cli-a" | "cli-b";
  readonly version: string;
  readonly binary: string;
}

interface Run {
  readonly cli: Cli;
  readonly case: Case;
  readonly baseUrl: string;
  /** Becomes the recording. */
  readonly directory: string;
  /** CLI A alone repeats what it thinks will pass for ever. */
  readonly limitMs: number;
  /** Whether it may go on after it has shown two failures. */
  readonly isToTheEnd?: boolean;
}

/** The provider's package for each API. */
export const PACKAGES = {
  chat: "@ai-sdk/openai-compatible",
  any: "@ai-sdk/openai-compatible",
  messages: "@ai-sdk/anthropic",
  responses: "@ai-sdk/openai",
} as const;

/** Runs a CLI against a provider once and leaves a recording. */
export async function recordRun(run: Run): Promise<void> {
  const { cli, directory, limitMs } = run;
  const home = join(directory, "home");
  // What an interrupted run has left is no start.
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  const { args, env } = cli.executor === "cli-a" ? prepareCliA(run, home) : prepareCliB(run, home);
  writeFileSync(join(home, "prompt.txt"), "hello\n");
  const files = [
    openSync(join(home, "prompt.txt"), "r"),
    openSync(join(directory, "stdout.jsonl"), "w"),
    openSync(join(directory, "stderr.log"), "w"),
  ];
  const [program, ...words] = endingWithParent([cli.binary, ...args]);
  const child = spawn(program, words, {
    cwd: home,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, TMPDIR: home, ...NO_INTERNET, ...env },
    stdio: files,
  });
  // CLI A alone repeats for ever what it thinks will pass: once it has begun to, it has said all it will say.
  const limit = setTimeout(() => child.kill("SIGKILL"), limitMs);
  const look = setInterval(() => run.isToTheEnd !== true && hasSaidAll(directory) && child.kill("SIGKILL"), 1000);
  const exit = await awaitExit(child).finally(() => {
    clearTimeout(limit);
    clearInterval(look);
    files.forEach(closeSync);
  });
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(directory, name), `${JSON.stringify(value, null, 2)}\n`);
  write("exit.json", exit);
  write("turn.json", {
    executor: cli.executor,
    cli_version: cli.version,
    args,
    mode: "execute",
    requested_session: null,
    ended_by: exit.signal === "SIGKILL" ? "idle_timeout" : null,
    note: run.case.name,
  });
  rmSync(home, { recursive: true, force: true });
}

/** Whether a run has shown two failed requests, or loops. */
function hasSaidAll(directory: string): boolean {
  const stderr = readFileSync(join(directory, "stderr.log"), "utf8");
  const stdout = readFileSync(join(directory, "stdout.jsonl"), "utf8");
  const failures = stderr.match(/"isRetryable":true|message="stream error"/g)?.length ?? 0;
  return failures > 1 || stdout.split('"step_start"').length > 8;
}

/** Whatever a CLI looks up by itself meets a closed port. */
export const NO_INTERNET = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,.invalid",
};

function prepareCliA({ case: { api, isSlow }, baseUrl }: Run, home: string) {
  mkdirSync(join(home, "config/opencode"), { recursive: true });
  const options = { baseURL: baseUrl, apiKey: "FAKE-KEY", ...(isSlow ? { timeout: 3000, chunkTimeout: 3000 } : {}) };
  const config = {
    model: "lab/m",
    small_model: "lab/m",
    enabled_providers: ["lab"],
    share: "disabled",
    autoupdate: false,
    provider: { lab: { npm: PACKAGES[api], options, models: { m: {} } } },
    permission: { "*": "allow" },
  };
  writeFileSync(join(home, "config/opencode/config.json"), JSON.stringify(config));
  const xdg = { DATA: "data", CONFIG: "config", CACHE: "cache", STATE: "state" };
  return {
    args: ["run", "--format=json", "--print-logs", "--log-level=INFO", "--title=turn"],
    env: {
      ...Object.fromEntries(Object.entries(xdg).map(([name, folder]) => [`XDG_${name}_HOME`, join(home, folder)])),
      ...SWITCHES,
    },
  };
}

/** What CLI A is not to do unasked. */
export const SWITCHES = Object.fromEntries(
  [
    "AUTOUPDATE",
    "CLAUDE_CODE",
    "DEFAULT_PLUGINS",
    "EXTERNAL_SKILLS",
    "LSP_DOWNLOAD",
    "MODELS_FETCH",
    "PROJECT_CONFIG",
    "SHARE",
  ].map((name) => [`OPENCODE_DISABLE_${name}`, "1"]),
);

function prepareCliB({ case: { isSlow }, baseUrl }: Run, home: string) {
  const codexHome = join(home, "codex");
  mkdirSync(codexHome);
  const toml = `model = "m"
model_provider = "lab"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.lab]
name = "lab"
base_url = ${JSON.stringify(baseUrl)}
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = ${isSlow ? 2000 : 20000}
[analytics]
enabled = false
[features]
plugins = false
apps = false
shell_snapshot = false
multi_agent = false
`;
  writeFileSync(join(codexHome, "config.toml"), toml);
  return {
    args: ["exec", "--json", "--skip-git-repo-check", "-"],
    env: { CODEX_HOME: codexHome, LAB_KEY: "FAKE-KEY" },
  };
}
