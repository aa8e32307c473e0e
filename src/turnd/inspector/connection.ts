import { signal } from "@preact/signals";
import { createTurndClient } from "../client/turnd-client.ts";
import { createFetchTransport, type Transport } from "../client/transport.ts";
import { BrowserHandOver, BrowserSession, BrowserState, SESSION_KEY_HEADER } from "../protocol/browser-login.ts";
import { OutputOrigin } from "../protocol/output-origin.ts";
import { Problem } from "../protocol/problems.ts";

/** Where turnd is: the page's own address, whatever path a proxy serves it below. */
export const BASE_URL = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** The key of the session; useless without the cookie, which no script can read. */
const KEY_ITEM = "turnd.session-key";

/**
 * Whether this page may ask turnd anything. `expired`: it might until now, so what it shows is kept while it asks for the
 * token again.
 */
export type Login = "unknown" | "unreachable" | "expired" | BrowserState["login"];
export const login = signal<Login>("unknown");
export const version = signal("");
/** How often the login was renewed: what was refused meanwhile is asked again. */
export const renewals = signal(0);

const sendPlain = createFetchTransport("same-origin");

/** The platform's fetch with the session's key; a refusal shows the login again. */
const transport: Transport = async (url, outgoing) => {
  const answer = await sendPlain(url, { ...outgoing, headers: { ...outgoing.headers, ...sessionHeaders() } });
  noteRefusal(answer.status);
  return answer;
};

function noteRefusal(status: number): void {
  // Where a reader has logged out, requests that were under way are refused too.
  if (status === 401 && (login.value === "done" || login.value === "open")) login.value = "expired";
}

/** No retries: a reader who waits wants to see a refusal, such as a full queue, and to decide. */
const LONGEST_WAIT_MS = 1_000;

/** The client of this page. */
export const turnd = createTurndClient({ baseUrl: BASE_URL, transport, longestWaitMs: LONGEST_WAIT_MS });

/**
 * Fetches what the client has no call for: whole answers, to be saved.
 *
 * @throws {Error} with turnd's message, where it refuses
 */
export async function fetchRaw(path: string): Promise<Response> {
  const answer = await fetch(`${BASE_URL}${path}`, { headers: sessionHeaders(), cache: "no-store" });
  noteRefusal(answer.status);
  if (!answer.ok) throw new Error(describeRefusal(answer.status, await answer.json().catch(() => undefined)));
  return answer;
}

/** Resolves after the next login. @throws the signal's reason */
export function untilLoggedIn(given: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = login.subscribe((now) => {
    if (now === "done" || now === "open") resolve();
  });
  given.addEventListener("abort", () => reject(given.reason), { once: true });
  return promise.finally(stop);
}

/** Asks whether a login is needed. */
export async function lookAtLogin(): Promise<void> {
  try {
    const answer = await fetchRaw("/inspector/session");
    const state = BrowserState.parse(await answer.json());
    version.value = state.version;
    if (state.login === "needed" && login.value === "expired") return;
    if (login.value === "expired") renewals.value += 1;
    login.value = state.login;
  } catch {
    // No answer, or something else that answers here. What is shown already stays.
    if (login.value !== "expired") login.value = "unreachable";
  }
}

// Another tab has logged in, or out.
window.addEventListener("storage", ({ key, newValue }) => {
  if (key === KEY_ITEM && newValue !== null && login.value !== "done") void lookAtLogin();
});

/** Logs in. @returns why it was refused, or undefined */
export async function logIn(token: string): Promise<string | undefined> {
  const answer = await fetch(`${BASE_URL}/inspector/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
    cache: "no-store",
  });
  const body: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) return describeRefusal(answer.status, body);
  localStorage.setItem(KEY_ITEM, BrowserSession.parse(body).key);
  await lookAtLogin();
  return undefined;
}

/** A ticket that logs the terminal's page in, which may be of another port. */
export async function handOverLogin(): Promise<string> {
  return BrowserHandOver.parse(await post("/inspector/session/ticket", {})).ticket;
}

/** The CLI that printed these first lines of output. @throws {Error} with turnd's message where that is unknown */
export async function identifyOutput(lines: readonly string[]): Promise<string> {
  return OutputOrigin.parse(await post("/inspector/output-origin", { lines })).executor;
}

async function post(path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${BASE_URL}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...sessionHeaders() },
    body: JSON.stringify(body),
    cache: "no-store",
  });
  noteRefusal(answer.status);
  const read: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) throw new Error(describeRefusal(answer.status, read));
  return read;
}

/** Ends the login here and in turnd. */
export async function logOut(): Promise<void> {
  await fetch(`${BASE_URL}/inspector/session`, { method: "DELETE", headers: sessionHeaders(), cache: "no-store" });
  localStorage.removeItem(KEY_ITEM);
  login.value = "needed";
}

function describeRefusal(status: number, body: unknown): string {
  return Problem.safeParse(body).data?.detail.message ?? `turnd answered ${status}`;
}

function sessionHeaders(): Record<string, string> {
  const key = localStorage.getItem(KEY_ITEM);
  return key === null ? {} : { [SESSION_KEY_HEADER]: key };
}
