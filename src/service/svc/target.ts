import { readServiceUrl, ServiceUrlError } from "../../kit/command-line/service-url.ts";
import { configFile, readConfig, type Config } from "./config.ts";
import { EXIT, SvcError, usageError } from "./exit-codes.ts";
import type { Terminal } from "../../kit/command-line/terminal.ts";

export const DEFAULT_URL = "http://127.0.0.1:5050";

/** A service, and what it is asked with. */
export interface Target {
  readonly url: string;
  readonly apiKey: string;
  /** The login that this is; absent where the key came from the environment. */
  readonly remote?: string;
}

export interface TargetOptions {
  readonly remote?: string | undefined;
  readonly insecure?: boolean | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Chooses the service to ask: `SVC_URL` and `SVC_API_KEY` win over the logins, `--remote` over the current one.
 *
 * A key that is stored for one address is never sent to another.
 *
 * @throws {SvcError} not_logged_in, remote_unknown, insecure_url
 */
export async function chooseTarget(env: Env, options: TargetOptions, terminal: Terminal): Promise<Target> {
  const target = choose(await readConfig(configFile(env)), env, options.remote);
  return { ...target, url: acceptUrl(target.url, options, terminal) };
}

function choose(config: Config, env: Env, asked: string | undefined): Target {
  const name = asked ?? config.current;
  const remote = config.remotes[name];
  if (asked !== undefined) {
    if (remote === undefined) throw unknownRemote(asked, config);
    return { url: remote.url, apiKey: remote.api_key, remote: name };
  }
  const url = given(env["SVC_URL"]);
  const apiKey = given(env["SVC_API_KEY"]?.trim());
  if (apiKey !== undefined && /[^\u0021-\u007e]/.test(apiKey)) throw usageError("SVC_API_KEY holds no key");
  if (apiKey !== undefined) return { url: url ?? remote?.url ?? DEFAULT_URL, apiKey };
  if (url === undefined) {
    if (remote === undefined) throw notLoggedIn("log in with `svc login`");
    return { url: remote.url, apiKey: remote.api_key, remote: name };
  }
  const known = Object.entries(config.remotes).find(([, { url: other }]) => isSame(other, url));
  if (known === undefined) throw notLoggedIn("SVC_URL has no login: set SVC_API_KEY, or use `svc login --url`");
  return { url, apiKey: known[1].api_key, remote: known[0] };
}

function given(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

function isSame(one: string, other: string): boolean {
  return URL.parse(one)?.href === URL.parse(other)?.href;
}

function notLoggedIn(advice: string): SvcError {
  return new SvcError("not_logged_in", `not logged in: ${advice}`, { exitCode: EXIT.notLoggedIn });
}

/** A name that no login has. */
export function unknownRemote(name: string, config: Config): SvcError {
  const names = Object.keys(config.remotes).join(", ");
  return usageErrorOf(
    "remote_unknown",
    `there is no login ${JSON.stringify(name)}: there ${names === "" ? "are none" : `is ${names}`}`,
  );
}

function usageErrorOf(code: string, message: string): SvcError {
  return new SvcError(code, message, { exitCode: EXIT.usage });
}

/**
 * Checks an address before anything is sent to it.
 *
 * @returns it without a slash at its end
 * @throws {SvcError} insecure_url for http beyond this machine, unless `--insecure` is given
 */
export function acceptUrl(text: string, { insecure }: TargetOptions, terminal: Terminal): string {
  const { url, isExposed } = readUrl(text);
  if (isExposed) {
    const { origin } = new URL(url);
    if (insecure !== true) {
      throw usageErrorOf(
        "insecure_url",
        `${origin} would get the key and the documents unencrypted: use https, or give --insecure`,
      );
    }
    terminal.warn(`svc: ${origin} gets the key and the documents unencrypted (--insecure)`);
  }
  return url;
}

function readUrl(text: string): ReturnType<typeof readServiceUrl> {
  try {
    return readServiceUrl(text);
  } catch (error) {
    if (error instanceof ServiceUrlError) throw usageError(error.message);
    throw error;
  }
}
