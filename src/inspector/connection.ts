import { signal } from "@preact/signals";
import { createTurndClient } from "../client/turnd-client.ts";
import { createFetchTransport, type Transport } from "../client/transport.ts";
import { BrowserSession, BrowserState, SESSION_KEY_HEADER } from "../protocol/browser-login.ts";
import { Problem } from "../protocol/problems.ts";

/** Where turnd is: the page's own address, whatever path a proxy serves it below. */
export const BASE_URL = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** Not the token, and of no use without the cookie, which no script can read. */
const KEY_ITEM = "turnd.session-key";

/** Whether this page may ask turnd anything. */
export type Login = "unknown" | "unreachable" | BrowserState["login"];
export const login = signal<Login>("unknown");
export const version = signal("");

const sendPlain = createFetchTransport("same-origin");

/** As the platform's fetch, with what proves the login; a refusal of it shows the login again. */
const transport: Transport = async (url, outgoing) => {
  const answer = await sendPlain(url, { ...outgoing, headers: { ...outgoing.headers, ...sessionHeaders() } });
  if (answer.status === 401) login.value = "needed";
  return answer;
};

/** turnd, as this page asks it. */
export const turnd = createTurndClient({ baseUrl: BASE_URL, transport });

/** Fetches what the client has no call for: whole answers, to be saved. */
export function fetchRaw(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${BASE_URL}${path}`, { headers: { ...headers, ...sessionHeaders() }, cache: "no-store" });
}

/** Asks whether a login is needed. */
export async function lookAtLogin(): Promise<void> {
  try {
    const answer = await fetchRaw("/inspector/session");
    const state = BrowserState.parse(await answer.json());
    login.value = state.login;
    version.value = state.version;
  } catch {
    // No answer, or something else that answers here.
    login.value = "unreachable";
  }
}

/** Logs in. @returns why it was refused, or undefined */
export async function logIn(token: string): Promise<string | undefined> {
  const answer = await fetch(`${BASE_URL}/inspector/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
    cache: "no-store",
  });
  const body: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) return Problem.safeParse(body).data?.detail.message ?? `turnd answered ${answer.status}`;
  localStorage.setItem(KEY_ITEM, BrowserSession.parse(body).key);
  await lookAtLogin();
  return undefined;
}

/** Ends the login here and in turnd. */
export async function logOut(): Promise<void> {
  await fetch(`${BASE_URL}/inspector/session`, { method: "DELETE", headers: sessionHeaders(), cache: "no-store" });
  localStorage.removeItem(KEY_ITEM);
  login.value = "needed";
}

function sessionHeaders(): Record<string, string> {
  const key = localStorage.getItem(KEY_ITEM);
  return key === null ? {} : { [SESSION_KEY_HEADER]: key };
}
