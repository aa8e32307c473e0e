import { afterAll, beforeAll, inject } from "vitest";
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from "../../src/scripted-model/server.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { processesNaming } from "./processes.ts";
import { CLI_VERSIONS } from "./cli-versions.ts";
import { temporaryDirectory } from "./temporary.ts";

/** One pinned version of a real CLI. */
export interface RealCli {
  readonly executor: "cli-a" | "cli-b";
  readonly version: string;
}

/** CLI A as the image ships it. */
export const PINNED_CLI_A: RealCli = { executor: "cli-a", version: CLI_VERSIONS.opencode.image };
export const CLI_A: readonly RealCli[] = [PINNED_CLI_A, { executor: "cli-a", version: "1.3.2" }];
export const CLI_B: RealCli = { executor: "cli-b", version: CLI_VERSIONS.codex.image };
/** The newest that are known, beside what the image ships. */
export const NEWEST_CLI_A: RealCli = { executor: "cli-a", version: CLI_VERSIONS.opencode.newest };
export const NEWEST_CLI_B: RealCli = { executor: "cli-b", version: CLI_VERSIONS.codex.newest };
/** Every version of CLI A that turnd knows, the newest first. */
export const CLIS_A: readonly RealCli[] = CLI_VERSIONS.opencode.all
  .toReversed()
  .map((version) => ({ executor: "cli-a", version }));
/** Every generation of CLI B that turnd knows. */
export const CLIS_B: readonly RealCli[] = CLI_VERSIONS.codex.all.map((version) => ({ executor: "cli-b", version }));
export const REAL_CLIS: readonly RealCli[] = [...CLI_A, ...CLIS_B];
/** The ones that the image ships. */
export const PINNED_CLIS: readonly RealCli[] = [PINNED_CLI_A, CLI_B];
/** For what does not depend on the version: 1.18.33 takes 1.7 times the CPU. */
export const LIGHT_CLI_A: RealCli = { executor: "cli-a", version: "1.14.34" };
export const LIGHT_CLIS: readonly RealCli[] = [LIGHT_CLI_A, CLI_B];

/** The key of every test; it must be found nowhere else. */
export const KEY = "FAKE-SENTINEL-KEY-0123456789";

/** A daemon with one real CLI, and the model behind it. */
export interface Stage {
  readonly turnd: TestDaemon;
  readonly model: ScriptedModel;
  /** Holds the daemon's state, home and workspace. */
  readonly directory: string;
  /** Ends the daemon by a signal. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Starts another one on the same directories. */
  start(): Promise<void>;
}

export interface StageOptions {
  /** Laid over the environment; as a function where it names the model's address. */
  readonly env?: Readonly<Record<string, string>> | ((modelUrl: string) => Readonly<Record<string, string>>);
  readonly model?: ScriptedModelOptions;
}

/**
 * One daemon and one scripted model for all tests of a `describe`: a turn of a CLI takes seconds.
 *
 * @returns how a test gets at them
 */
export function shareStage(cli: RealCli, options: StageOptions = {}): () => Stage {
  let stage: (Stage & { close(): Promise<void> }) | undefined;
  beforeAll(async () => {
    stage = await startStage(cli, options);
  });
  afterAll(() => stage?.close());
  return () => {
    if (stage === undefined) throw new Error("the daemon did not start");
    return stage;
  };
}

async function startStage(cli: RealCli, options: StageOptions): Promise<Stage & { close(): Promise<void> }> {
  const cleanUps: (() => void)[] = [];
  const directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  const model = await startScriptedModel(options.model);
  const own = typeof options.env === "function" ? options.env(model.url) : options.env;
  const env = { ...realEnv(cli, model.url), ...own };
  let turnd = await startDaemon({ directory, env });
  return {
    get turnd() {
      return turnd;
    },
    model,
    directory,
    async end(signal) {
      turnd.kill(signal);
      await turnd.exited;
    },
    async start() {
      turnd = await startDaemon({ directory, env });
    },
    async close() {
      await turnd.stop();
      await model.close();
      // Law: nothing outlives its turn. Everything that the daemon of these tests started names the directory.
      const left = processesNaming(`${directory}/`, "anywhere");
      for (const cleanUp of cleanUps) cleanUp();
      if (left.length > 0) throw new Error(`processes left behind: ${left.join(" ")}`);
    },
  };
}

/** The native binary of a pinned version, of whichever CLI. */
export function binaryOf(version: string): string {
  const binary = inject("clis").binaries[version];
  if (binary === undefined) throw new Error(`version ${version} is pinned nowhere`);
  return binary;
}

/** Environment of a daemon with one real CLI whose provider is a scripted model. */
export function realEnv({ executor, version }: RealCli, modelUrl: string): Record<string, string> {
  // Nothing listens there: a request to anywhere but loopback fails at once.
  const nowhere = "http://127.0.0.1:9";
  return {
    PATH: `/usr/local/bin:/usr/bin:/bin:${inject("clis").tools}`,
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: "127.0.0.1",
    CLI_A_NAME: "opencode",
    CLI_A_BIN: binaryOf(executor === "cli-a" ? version : PINNED_CLI_A.version),
    CLI_A_PROVIDER: "scripted",
    CLI_A_MODEL: "scripted",
    CLI_A_BASE_URL: modelUrl,
    CLI_A_API_KEY: KEY,
    CLI_B_NAME: "codex",
    CLI_B_BIN: binaryOf(executor === "cli-b" ? version : CLI_B.version),
    CLI_B_MODEL: "scripted",
    CLI_B_BASE_URL: modelUrl,
    CLI_B_API_KEY: KEY,
    // As in the image, where the container is the boundary.
    CLI_B_SANDBOX_MODE: "danger-full-access",
  };
}
