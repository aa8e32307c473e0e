import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Configuration } from "../executors/contract/configuration.ts";
import type { Executor } from "../executors/contract/executor.ts";
import { isPlaceholder, secretsInEnvironment } from "../executors/secrets/secret-values.ts";
import { makeUserDirectory } from "../process/user-files/user-directory.ts";
import { makeDirectories } from "../storage/directories.ts";
import { secretsOfOtel } from "../tracing/otel-variables.ts";
import { changeHome, type HomeWriter } from "../process/user-files/change-home.ts";
import { readSettings, readVariables, SettingsError, type Identity, type Settings } from "../settings.ts";

const Places = z.record(z.string(), z.string());

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
 * @throws {SettingsError} that names everything missing or wrong, for all of them at once
 */
export function readConfigurations({ env }: Settings, executors: readonly Executor[]): ConfiguredExecutor[] {
  const errors: string[] = [];
  const configured: ConfiguredExecutor[] = [];
  const places = Places.parse(readVariables(placeVariables(executors), env));
  for (const executor of executors) {
    const { defaultName, variablePrefix: prefix } = executor;
    const { [`${prefix}_NAME`]: cliName = defaultName, [`${prefix}_BIN`]: explicitBinary } = places;
    const result = executor.configure({ env, cliName });
    if (result.ok) configured.push({ executor, cliName, explicitBinary, configuration: result.configuration });
    else errors.push(...result.errors);
  }
  if (errors.length > 0) throw new SettingsError(errors);
  return configured;
}

/** For every executor: what its CLI is called here, and where it is. */
export function placeVariables(executors: readonly Executor[]): z.ZodObject {
  const variables = executors.flatMap(({ label, variablePrefix, defaultName, builtAs }) => [
    [
      `${variablePrefix}_NAME`,
      z
        .string()
        .regex(/^[a-z][a-z0-9-]{0,31}$/)
        .default(defaultName)
        .meta({
          description: `What ${label} is called in this image: its paths; a binary built as \`${builtAs}\` is served too`,
        }),
    ] as const,
    [
      `${variablePrefix}_BIN`,
      z
        .string()
        .startsWith("/")
        .optional()
        .meta({ description: `${label}'s binary, given as an explicit path` }),
    ] as const,
  ]);
  return z.object(Object.fromEntries(variables));
}

/** Every value that must not be printed: keys, the token, and what name or form shows to be a secret. */
export function secretsOf(settings: Settings, configured: readonly ConfiguredExecutor[]): string[] {
  return [
    ...keysOf(settings, configured),
    ...Object.values(settings.sessionSecrets),
    ...secretsInEnvironment(settings.env),
    ...secretsOfOtel(settings.env),
  ];
}

/** Only the keys of the configured CLIs and the token. */
export function keysOf(settings: Settings, configured: readonly ConfiguredExecutor[]): string[] {
  const keys = configured.flatMap(({ configuration }) => configuration.secrets).filter((key) => !isPlaceholder(key));
  return settings.token === undefined ? keys : [...keys, settings.token];
}

/**
 * The secrets of an environment that need not be one that turnd can be started with, such as that of `turnd replay`.
 */
export function secretsOfEnvironment(env: Settings["env"], self: Identity, executors: readonly Executor[]): string[] {
  try {
    const settings = readSettings(env, self);
    return secretsOf(settings, readConfigurations(settings, executors));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const configured = executors.map((executor) => executor.configure({ env, cliName: executor.defaultName }));
    const keys = configured.flatMap((result) => (result.ok ? result.configuration.secrets : []));
    return [...keys, ...secretsInEnvironment(env)];
  }
}

/**
 * Writes the configurations into the home of the CLIs' user, which is made where it is missing.
 *
 * @returns the files written, relative to that home
 * @throws {HomeError} if that user cannot write the home
 */
export async function renderConfigurations(
  configured: readonly ConfiguredExecutor[],
  { home, ...writer }: HomeWriter & { readonly home: string },
): Promise<string[]> {
  const isNew = await access(home).then(
    () => false,
    () => true,
  );
  if (isNew) {
    await makeDirectories(dirname(home), 0o755);
    await makeUserDirectory(home, writer.runAs);
  }
  const files = configured.flatMap(({ configuration }) => configuration.files);
  await changeHome(writer, home, [
    { do: "keep_others" },
    ...files.map(({ path, content }) => ({ do: "write" as const, path, content })),
  ]);
  return files.map((file) => file.path);
}
