import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { defined } from "../../../kit/defined.ts";
import { KeyCreated, LoginStarted, Me } from "../answers.ts";
import { createClient, interrupted, readAnswer, type Client } from "../client.ts";
import { configFile, readConfig, writeConfig, type Remote } from "../config.ts";
import type { Context } from "../context.ts";
import { EXIT, SvcError, usageError } from "../exit-codes.ts";
import { openBrowser } from "../open-browser.ts";
import { readKey } from "../read-key.ts";
import { acceptUrl, DEFAULT_URL } from "../target.ts";
import { safeLine } from "../../../kit/command-line/text.ts";

export interface LoginOptions {
  readonly url?: string;
  readonly apiKeyStdin?: boolean;
  /** False with `--no-browser`. */
  readonly browser: boolean;
}

interface Key {
  readonly secret: string;
  /** Of a key that this login made. */
  readonly id?: number;
}

/** Logs in, by a page in a browser or with a key from stdin, and keeps the key. */
export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { env, terminal, signal } = context;
  const file = configFile(env);
  const config = await readConfig(file);
  const name = context.options.remote ?? config.current;
  if (!/^[\w.-]{1,64}$/.test(name)) throw usageError("--remote is 1 to 64 of letters, digits and . _ -");
  const before = config.remotes[name];
  const given = options.url ?? (env["SVC_URL"] === "" ? undefined : env["SVC_URL"]) ?? before?.url ?? DEFAULT_URL;
  const url = acceptUrl(given, context.options, terminal);
  const key =
    options.apiKeyStdin === true ? { secret: await readKey(context) } : await askPerson(context, url, options);
  const client = createClient({ url, apiKey: key.secret, signal });
  const { user } = readAnswer(Me, await client.call({ method: "GET", path: "/api/auth/me" }));
  const remote: Remote = {
    url,
    api_key: key.secret,
    ...defined({ api_key_id: key.id }),
    user: user.username,
  };
  await writeConfig(file, { current: name, remotes: { ...config.remotes, [name]: remote } });
  if (before !== undefined && before.api_key !== key.secret) await revokeOld(context, before);
  terminal.text(`logged in to ${url} as ${safeLine(user.username)} (${user.role})`);
  terminal.json({ remote: name, url, user });
}

/** A login in a browser. Source: RFC 8628. */
async function askPerson(context: Context, url: string, options: LoginOptions): Promise<Key> {
  const { terminal, env, signal } = context;
  const client = createClient({ url, signal });
  const body = { client_name: `svc on ${hostname()}`.slice(0, 100) };
  const started = readAnswer(
    LoginStarted,
    await client.call({ method: "POST", path: "/api/auth/cli/sessions", body, isRepeatable: true }),
  );
  terminal.warn(
    `Open ${safeLine(started.verification_uri)} in a browser, log in and enter the code\n\n` +
      `    ${terminal.bold(safeLine(started.user_code))}\n\n` +
      `or open ${safeLine(started.verification_uri_complete)}`,
  );
  if (options.browser && openBrowser(started.verification_uri_complete, env)) terminal.notice("(opened in a browser)");
  return poll(client, started, signal);
}

async function poll(
  client: Client,
  { device_code, expires_in, interval }: ReturnType<typeof LoginStarted.parse>,
  signal: AbortSignal,
): Promise<Key> {
  const expiresAt = performance.now() + expires_in * 1_000;
  for (let pauseMs = Math.max(1, interval) * 1_000; performance.now() < expiresAt;) {
    await delay(pauseMs, undefined, { signal }).catch(() => {
      throw interrupted();
    });
    try {
      const path = "/api/auth/cli/sessions/token";
      // The same login gives the same key, however often it is asked for.
      const answer = await client.call({ method: "POST", path, body: { device_code }, isRepeatable: true });
      const { api_key, secret } = readAnswer(KeyCreated, answer);
      return { secret, id: api_key.id };
    } catch (error) {
      const code = error instanceof SvcError ? error.code : undefined;
      if (code === "slow_down") pauseMs += 5_000;
      else if (code === "access_denied" || code === "expired_token") throw refused(code);
      else if (code !== "authorization_pending") throw error;
    }
  }
  throw refused("expired_token");
}

function refused(code: "access_denied" | "expired_token"): SvcError {
  const message = code === "access_denied" ? "the login was denied" : "the login was not approved in time";
  return new SvcError(code, message, { exitCode: EXIT.notLoggedIn, status: 400 });
}

/** The key that this login replaces is of no more use; that it stays is no reason to fail. */
async function revokeOld(
  { terminal, signal }: Context,
  { url, api_key: apiKey, api_key_id: id }: Remote,
): Promise<void> {
  if (id === undefined) return;
  try {
    await createClient({ url, apiKey, signal }).call({ method: "DELETE", path: `/api/user/apikey/${id}` });
  } catch (error) {
    terminal.notice(
      `svc: the key of the login before was not revoked (${error instanceof SvcError ? error.code : "fault"})`,
    );
  }
}
