import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readJsonLine } from "../../src/turnd/daemon/executors/contract/json-line.ts";
import { NO_INTERNET, type Driver, type Printed, type Stage } from "./cli.ts";
import type { Scene } from "./scene.ts";

type Bag = Record<string, unknown>;

/** The provider's package for each API. */
const PACKAGES = {
  chat: "@ai-sdk/openai-compatible",
  messages: "@ai-sdk/anthropic",
  responses: "@ai-sdk/openai",
} as const;

const XDG = { DATA: "data", CONFIG: "config", CACHE: "cache", STATE: "state" };
/** What it is not to do unasked. */
const OFF =
  "AUTOUPDATE CLAUDE_CODE DEFAULT_PLUGINS EXTERNAL_SKILLS LSP_DOWNLOAD MODELS_FETCH PROJECT_CONFIG SHARE".split(" ");

/** CLI A, with a configuration of one provider and one model. */
export const CLI_A: Driver = {
  paths: { store: "data", config: "config/opencode/config.json" },
  settleMs: 1_500,
  prepare(scene, stage, resume) {
    mkdirSync(dirname(stage.config), { recursive: true });
    writeFileSync(stage.config, JSON.stringify(configure(scene, stage)));
    const { logs = "INFO" } = scene;
    const args = [
      "run",
      "--format=json",
      ...(logs === "none" ? [] : ["--print-logs", `--log-level=${logs}`]),
      "--thinking",
      "--title=turn",
      ...(resume === undefined ? [] : [`--session=${resume}`]),
    ];
    const { toolsDirectory } = stage.cli;
    const env = {
      PATH: `${toolsDirectory === undefined ? "" : `${toolsDirectory}:`}/usr/local/bin:/usr/bin:/bin`,
      HOME: stage.home,
      TMPDIR: join(stage.base, "tmp"),
      ...NO_INTERNET,
      ...Object.fromEntries(
        Object.entries(XDG).map(([name, folder]) => [`XDG_${name}_HOME`, join(stage.home, folder)]),
      ),
      ...Object.fromEntries(OFF.map((name) => [`OPENCODE_DISABLE_${name}`, "1"])),
    };
    return { args, env };
  },
  readPrinted,
};

function configure({ api = "chat", baseUrl, config = {} }: Scene, stage: Stage): Bag {
  const options = { baseURL: baseUrl ?? stage.modelUrl, apiKey: "FAKE-KEY" };
  const usual: Bag = {
    model: "lab/m",
    small_model: "lab/m",
    enabled_providers: ["lab"],
    share: "disabled",
    autoupdate: false,
    provider: { lab: { npm: PACKAGES[api], name: "lab", options, models: { m: {} } } },
    permission: { "*": "allow" },
  };
  return merge(usual, typeof config === "function" ? config(stage) : config);
}

/** As a JSON merge patch does. */
function merge(target: Bag, patch: Readonly<Bag>): Bag {
  const merged = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    const before = merged[name];
    if (value === null) delete merged[name];
    else merged[name] = isBag(value) && isBag(before) ? merge(before, value) : value;
  }
  return merged;
}

function isBag(value: unknown): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const Tokens = z.looseObject({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache: z.object({ read: z.number(), write: z.number() }),
});
const Line = z.looseObject({
  type: z.string(),
  sessionID: z.string(),
  part: z
    .looseObject({ cost: z.number().default(0), tokens: Tokens.optional(), text: z.string().optional() })
    .optional(),
});

function readPrinted(stdout: string): Printed {
  const lines = stdout.split("\n").flatMap((line) => {
    const read = readJsonLine(line);
    const parsed = read.kind === "value" ? Line.safeParse(read.value).data : undefined;
    return parsed === undefined ? [] : [parsed];
  });
  return {
    session: lines[0]?.sessionID ?? null,
    text: lines.findLast(({ type }) => type === "text")?.part?.text ?? null,
    tools: lines.filter(({ type }) => type === "tool_use").length,
    usage: sumUsage(lines.filter(({ type }) => type === "step_finish")),
  };
}

function sumUsage(finished: readonly z.infer<typeof Line>[]): object | null {
  if (finished.length === 0) return null;
  const sum = (read: (part: NonNullable<z.infer<typeof Line>["part"]>) => number | undefined): number =>
    finished.reduce((total, { part }) => total + (part === undefined ? 0 : (read(part) ?? 0)), 0);
  return {
    input_tokens: sum(({ tokens }) => tokens?.input),
    output_tokens: sum(({ tokens }) => tokens?.output),
    reasoning_tokens: sum(({ tokens }) => tokens?.reasoning),
    cache_read_tokens: sum(({ tokens }) => tokens?.cache.read),
    cache_write_tokens: sum(({ tokens }) => tokens?.cache.write),
    cost: sum(({ cost }) => cost),
    steps: finished.length,
  };
}
