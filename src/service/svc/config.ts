import { mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parse, stringify } from "smol-toml";
import { z } from "zod";
import { PrivateFileError, readPrivateFile } from "../../kit/command-line/private-file.ts";
import { EXIT, SvcError } from "./exit-codes.ts";

/** A service with a login. */
const Remote = z.object({
  url: z.url({ protocol: /^https?$/ }),
  api_key: z.string().min(1),
  /** Of a key that `svc login` made, and `svc logout` revokes. */
  api_key_id: z.int().optional(),
  user: z.string().default(""),
});
export type Remote = z.infer<typeof Remote>;

const Config = z.object({ current: z.string().default("default"), remotes: z.record(z.string(), Remote).default({}) });
export type Config = z.infer<typeof Config>;

type Env = Readonly<Record<string, string | undefined>>;

/** Where the logins are kept. */
export function configFile(env: Env): string {
  return join(directoryOf(env["XDG_CONFIG_HOME"], ".config"), "svc/config.toml");
}

/** Where uploads are written down. */
export function stateDirectory(env: Env): string {
  return join(directoryOf(env["XDG_STATE_HOME"], ".local/state"), "svc");
}

/** The specification ignores what is not absolute. @see XDG Base Directory Specification 0.8 */
function directoryOf(given: string | undefined, fallback: string): string {
  return given?.startsWith("/") === true ? given : join(homedir(), fallback);
}

/**
 * Reads the logins; none where there is no file.
 *
 * @throws {SvcError} config_unsafe where others may read it, config_invalid
 */
export async function readConfig(file: string): Promise<Config> {
  const text = await readPrivate(file);
  if (text === undefined) return { current: "default", remotes: {} };
  try {
    return Config.parse(parse(text));
  } catch (error) {
    // A library's message about a wrong line may quote the line, and a line may contain a key.
    throw new SvcError("config_invalid", `${file} cannot be read as configuration: put it right, or remove it`, {
      exitCode: EXIT.usage,
      cause: error,
    });
  }
}

async function readPrivate(file: string): Promise<string | undefined> {
  try {
    return await readPrivateFile(file);
  } catch (error) {
    if (error instanceof PrivateFileError) {
      throw new SvcError("config_unsafe", error.message, { exitCode: EXIT.usage, cause: error });
    }
    throw error;
  }
}

/** Replaces the logins: whole, or not at all. Only their owner may read them. */
export async function writeConfig(file: string, config: Config): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // A file that is a link stays one.
  const target = await realpath(file).catch(() => file);
  const draft = `${target}.${crypto.randomUUID()}`;
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(`${stringify(config)}\n`);
    await handle.sync();
    await handle.close();
    await rename(draft, target);
  } catch (error) {
    await handle.close();
    await rm(draft, { force: true });
    throw error;
  }
}
