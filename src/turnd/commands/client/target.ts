import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { z } from "zod";
import { PrivateFileError, readPrivateFile } from "../../../kit/command-line/private-file.ts";
import { readServiceUrl, ServiceUrlError } from "../../../kit/command-line/service-url.ts";
import { EXIT } from "./exit-codes.ts";
import { ClientFailure, usageFailure } from "./failure.ts";

/** The options by which a command finds its turnd. */
export interface TargetOptions {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly insecure?: boolean;
}

/** A turnd, and how callers prove who they are. */
export interface Target {
  readonly url: string;
  readonly token: string | undefined;
  /** The address is plain http beyond this machine, as `--insecure` allows. */
  readonly isExposed: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

const Config = z.strictObject({
  url: z.string().optional(),
  token: z.string().optional(),
  token_file: z.string().startsWith("/").optional(),
});

/** Where a person may keep address and token. */
export function configFile(env: Env): string {
  const given = env["XDG_CONFIG_HOME"];
  return join(given?.startsWith("/") === true ? given : join(homedir(), ".config"), "turnd/client.toml");
}

/**
 * Chooses the turnd to ask: `--url`, `TURND_URL`, the configuration file, and otherwise this machine's.
 *
 * The token of the configuration file is never sent to another address than the one beside it.
 * @throws {ClientFailure} usage, insecure_url, config_unsafe, config_invalid
 */
export async function chooseTarget(env: Env, options: TargetOptions): Promise<Target> {
  const config = await readConfig(configFile(env));
  const given = options.url ?? set(env["TURND_URL"]);
  const { url, isExposed } = acceptUrl(given ?? config.url ?? `http://127.0.0.1:${readPort(env)}`);
  if (isExposed && options.insecure !== true) {
    const message = `${url} would get the token and the prompts unencrypted: use https, or say --insecure`;
    throw new ClientFailure("insecure_url", message, EXIT.usage);
  }
  const isConfigured = config.url !== undefined && acceptUrl(config.url).url === url;
  return { url, isExposed, token: await readToken(env, options, isConfigured ? config : {}) };
}

async function readToken(
  env: Env,
  { tokenFile }: TargetOptions,
  config: z.output<typeof Config>,
): Promise<string | undefined> {
  if (tokenFile !== undefined) return readTokenFile(tokenFile);
  const token = set(env["TURND_TOKEN"]);
  if (token !== undefined) return checkToken(token, "TURND_TOKEN");
  const file = set(env["TURND_TOKEN_FILE"]);
  if (file !== undefined) return readTokenFile(file);
  if (config.token !== undefined) return checkToken(config.token, "the configuration file's token");
  return config.token_file === undefined ? undefined : readTokenFile(config.token_file);
}

async function readTokenFile(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageFailure(`the token's file cannot be read: ${reason}`);
  });
  return checkToken(text.trim(), path);
}

function readPort(env: Env): string {
  const port = set(env["TURND_PORT"]) ?? "8091";
  if (/^\d{1,5}$/.test(port)) return port;
  throw usageFailure(`TURND_PORT is ${JSON.stringify(port)}: must be a port of a turnd that serves`);
}

/** Characters that a header may have. */
function checkToken(token: string, from: string): string {
  if (/^[\u0021-\u007e]+$/.test(token)) return token;
  throw usageFailure(`${from} holds no token: it is one line of visible ASCII characters`);
}

async function readConfig(file: string): Promise<z.output<typeof Config>> {
  const text = await readPrivateFile(file).catch((error: unknown) => {
    if (error instanceof PrivateFileError) {
      throw new ClientFailure("config_unsafe", error.message, EXIT.usage, error);
    }
    throw error;
  });
  if (text === undefined) return {};
  try {
    return Config.parse(parse(text));
  } catch (error) {
    // A library's message may quote the wrong line, and the line may hold the token.
    const message = `${file} cannot be read as configuration: it has url, and token or token_file`;
    throw new ClientFailure("config_invalid", message, EXIT.usage, error);
  }
}

function acceptUrl(text: string): { readonly url: string; readonly isExposed: boolean } {
  try {
    const { url, isExposed } = readServiceUrl(text);
    // Logs and documents name the address with `/v1`; the client adds that itself.
    return { url: url.replace(/\/v1$/, ""), isExposed };
  } catch (error) {
    if (error instanceof ServiceUrlError) throw usageFailure(error.message);
    throw error;
  }
}

function set(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
