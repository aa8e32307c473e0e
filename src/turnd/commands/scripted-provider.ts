import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { READABLE_GAP_MS, startScriptedModel, type ScriptedModel } from "../../scripted-model/server.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import type { Settings } from "../daemon/settings.ts";
import { makeDirectories } from "../daemon/storage/directories.ts";

type Env = Settings["env"];

const PORT_FILE = "scripted-model-port";

/** A model that follows a script, and the environment in which every CLI asks it. */
export interface ScriptedProvider {
  readonly url: string;
  readonly env: Env;
  close(): Promise<void>;
}

/**
 * Starts the scripted model in this process, as the provider of every CLI that can talk to one.
 *
 * It reuses its last port where that is free, so that a turn that outlived its turnd finds it again.
 * @param stateDirectory - keeps that port; it is made where it is missing
 */
export async function startScriptedProvider(
  env: Env,
  executors: readonly Executor[],
  stateDirectory: string,
): Promise<ScriptedProvider> {
  await makeDirectories(stateDirectory, 0o711);
  const file = join(stateDirectory, PORT_FILE);
  const model = await startAt(await readPort(file));
  await writeFile(`${file}.new`, `${new URL(model.url).port}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return { url: model.url, env: scriptedEnv(env, executors, model.url), close: model.close };
}

/** Where the scripted model of a turnd that runs on this state directory listens; undefined where none was started there. */
export async function readScriptedUrl(stateDirectory: string): Promise<string | undefined> {
  const port = await readPort(join(stateDirectory, PORT_FILE));
  return port === 0 ? undefined : `http://127.0.0.1:${port}/v1`;
}

/** The environment without any other provider, so that no key is used and nothing is billed. */
export function scriptedEnv(env: Env, executors: readonly Executor[], url: string): Env {
  const plans = executors.flatMap(({ probe, variables }) => (probe === undefined ? [] : [{ probe, variables }]));
  const providers = new Set(plans.flatMap(({ variables }) => variables.map(({ name }) => name)));
  const kept = Object.entries(env).filter(([name]) => !providers.has(name));
  const given = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);
  const anywhere = plans.flatMap(({ probe }) =>
    Object.entries(probe.variables).map(([name, value]) => [name, given(name) ?? value] as const),
  );
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(plans.flatMap(({ probe }) => Object.entries(probe.provider(url)))),
    ...Object.fromEntries(anywhere),
    // A proxy does not reach this machine's loopback.
    NO_PROXY: [given("NO_PROXY"), "127.0.0.1"].filter(Boolean).join(","),
    no_proxy: [given("no_proxy"), "127.0.0.1"].filter(Boolean).join(","),
  };
}

async function startAt(port: number): Promise<ScriptedModel> {
  try {
    return await startScriptedModel({ port, frameGapMs: READABLE_GAP_MS });
  } catch (error) {
    if (port === 0 || !(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    return startScriptedModel({ frameGapMs: READABLE_GAP_MS });
  }
}

async function readPort(file: string): Promise<number> {
  const port = Number(await readFile(file, "utf8").catch(() => ""));
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : 0;
}
