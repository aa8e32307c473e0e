import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { defined } from "../../src/kit/defined.ts";
import { cliB } from "../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { CliFeatures } from "../../src/turnd/daemon/executors/contract/cli-features.ts";
import { NO_INTERNET, type Cli, type Driver, type Printed } from "./cli.ts";

const KEY = "FAKE-LAB-KEY-A";

/** CLI B, with the configuration that turnd renders for it. */
export const CLI_B: Driver = {
  paths: { store: "codex", config: "codex/config.toml" },
  settleMs: 0,
  prepare(scene, { cli, home, base, workspace, modelUrl }, resume) {
    const { toml, variables = {}, mode = "execute", baseUrl = modelUrl, outputSchema } = scene;
    const own = toml === undefined ? { CLI_B_MODEL: "m1", CLI_B_BASE_URL: "{url}", CLI_B_API_KEY: KEY } : {};
    const given = {
      LAB_KEY: KEY,
      CLI_B_SANDBOX_MODE: "danger-full-access",
      ...own,
      ...variables,
      ...(toml === undefined ? {} : { CLI_B_CONFIG_TOML: toml }),
    };
    const env = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, value.replaceAll("{url}", baseUrl)]),
    );
    const result = cliB.configure({ env, cliName: "codex" });
    if (!result.ok) throw new Error(result.errors.join("; "));
    const turn = {
      configuration: result.configuration,
      permissions: {},
      mode,
      ...defined({ cliFeatures: askFeatures(cli, home) }),
    };
    const plan = cliB.planHome({ home, cliName: "codex", ...turn });
    for (const { path, content } of plan.files) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), content, { mode: 0o600 });
    }
    const schema = join(home, "schema.json");
    if (outputSchema !== undefined) writeFileSync(schema, outputSchema);
    const args = cliB.buildArgs({
      ...turn,
      workspace,
      images: [],
      ...defined({ resume, outputSchema: outputSchema === undefined ? undefined : schema }),
    });
    return {
      args,
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        HOME: home,
        TMPDIR: join(base, "tmp"),
        ...NO_INTERNET,
        ...plan.env,
        ...result.configuration.env,
      },
    };
  },
  readPrinted,
};

function askFeatures({ binary }: Cli, home: string): CliFeatures | undefined {
  const question = cliB.featureQuestion;
  const { stdout } = spawnSync(binary, question?.args ?? [], { env: { CODEX_HOME: mkdtempSync(join(home, "ask-")) } });
  return question?.read(String(stdout));
}

const Line = z.object({
  type: z.string(),
  thread_id: z.string().optional(),
  usage: z.record(z.string(), z.unknown()).optional(),
  item: z.looseObject({ id: z.string(), type: z.string(), text: z.string().optional() }).optional(),
});
const TOOLS = /^(?:command_execution|file_change|mcp_tool_call|collab_tool_call|web_search)$/;

function readPrinted(stdout: string): Printed {
  const lines = stdout.split("\n").flatMap((line) => (line === "" ? [] : [Line.parse(JSON.parse(line))]));
  const items = lines.flatMap(({ item }) => (item === undefined ? [] : [item]));
  return {
    session: lines.find(({ type }) => type === "thread.started")?.thread_id ?? null,
    text: items.findLast(({ type }) => type === "agent_message")?.text ?? null,
    tools: new Set(items.filter(({ type }) => TOOLS.test(type)).map(({ id }) => id)).size,
    usage: lines.findLast(({ usage }) => usage !== undefined)?.usage ?? null,
  };
}

/** A whole `config.toml`, as `CLI_B_CONFIG_TOML` takes it; `{url}` is the provider's address. */
export function wholeFile(more = "", retries = 1): string {
  return `model = "m1"
model_provider = "mine"
sandbox_mode = "danger-full-access"
${more.startsWith("[") ? "" : more}
[model_providers.mine]
name = "mine"
base_url = "{url}"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = ${retries}
stream_max_retries = ${retries}
stream_idle_timeout_ms = 2000

${more.startsWith("[") ? more : ""}
`;
}
