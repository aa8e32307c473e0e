import { access } from "node:fs/promises";
import { dirname } from "node:path";
import type { Configuration, Executor } from "../executors/contract/executor.ts";
import { EXECUTORS } from "../executors/registry.ts";
import { isPlaceholder, secretsInEnvironment } from "../executors/secrets/secret-values.ts";
import type { RunAs } from "../process/run-as.ts";
import { makeUserDirectory } from "../process/user-files/user-directory.ts";
import { makeDirectories } from "../storage/directories.ts";
import { readSettings, SettingsError, type Settings } from "../settings.ts";
import { changeHome } from "../turns/run/home.ts";

/** One CLI as the environment describes it. */
export interface ConfiguredExecutor {
  readonly executor: Executor;
  readonly cliName: string;
  readonly explicitBinary: string | undefined;
  readonly configuration: Configuration;
}

/**
 * Reads the configuration of every CLI from the environment.
 *
 * @throws {SettingsError} naming what is missing or wrong, for all of them at once
 */
export function readConfigurations({ values, env }: Settings): ConfiguredExecutor[] {
  const named = {
    "cli-a": { cliName: values.CLI_A_NAME, explicitBinary: values.CLI_A_BIN },
    "cli-b": { cliName: values.CLI_B_NAME, explicitBinary: values.CLI_B_BIN },
  };
  const errors: string[] = [];
  const configured: ConfiguredExecutor[] = [];
  for (const executor of EXECUTORS) {
    const { cliName, explicitBinary } = named[executor.id];
    const result = executor.configure({ env, cliName });
    if (result.ok) configured.push({ executor, cliName, explicitBinary, configuration: result.configuration });
    else errors.push(...result.errors);
  }
  if (errors.length > 0) throw new SettingsError(errors);
  return configured;
}

/** Every key, the token, and what else the environment calls a secret or shows to be one: what must not be printed. */
export function secretsOf(settings: Settings): string[] {
  return [...keysOf(settings), ...secretsInEnvironment(settings.env)];
}

/** The keys of the configured CLIs and the token alone. */
export function keysOf(settings: Settings): string[] {
  const keys = readConfigurations(settings)
    .flatMap(({ configuration }) => configuration.secrets)
    .filter((key) => !isPlaceholder(key));
  return settings.token === undefined ? keys : [...keys, settings.token];
}

/** The secrets of an environment that need not be one that turnd can be started with, such as that of `turnd replay`. */
export function secretsOfEnvironment(env: Settings["env"], self: Parameters<typeof readSettings>[1]): string[] {
  try {
    return secretsOf(readSettings(env, self));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const configured = EXECUTORS.map((executor) => executor.configure({ env, cliName: executor.defaultName }));
    const keys = configured.flatMap((result) => (result.ok ? result.configuration.secrets : []));
    return [...keys, ...secretsInEnvironment(env)];
  }
}

/**
 * Writes the configurations into the home of the CLIs' user, which is made where it is missing.
 *
 * @returns the files written, relative to that home
 * @throws {HomeError} if the home is not that user's to write
 */
export async function renderConfigurations(
  configured: readonly ConfiguredExecutor[],
  target: { readonly home: string; readonly runAs: RunAs; readonly homeWriter: string },
): Promise<string[]> {
  const { home, runAs, homeWriter } = target;
  const isNew = await access(home).then(
    () => false,
    () => true,
  );
  if (isNew) {
    await makeDirectories(dirname(home), 0o755);
    await makeUserDirectory(home, runAs);
  }
  const files = configured.flatMap(({ configuration }) => configuration.files);
  await changeHome(
    { homeWriter, runAs },
    home,
    files.map(({ path, content }) => ({ do: "write", path, content })),
  );
  return files.map((file) => file.path);
}
