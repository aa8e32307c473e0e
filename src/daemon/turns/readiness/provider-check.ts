import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import https from "node:https";
import type { ExecutorInfo } from "../../../protocol/index.ts";
import type { ProviderAnswer, ProviderRequest, ProviderVerdict } from "../../executors/contract/provider-request.ts";
import { shareAnswer, type SharedAnswer } from "./shared-answer.ts";
import { startTimeLimit } from "../../process/time-limit.ts";

/** What is known of a provider. */
export interface ProviderState extends ProviderVerdict {
  readonly url: string;
  readonly checkedAt: Date;
  /** The head of what it answered, for the evidence; undefined when it did not. */
  readonly answer?: ProviderAnswer;
}

/** Asks a provider, and caches the answer for a while. */
export interface ProviderCheck {
  /** The answer, asked for anew when the last one is too old. Callers at the same time share one question. */
  readonly ask: SharedAnswer<ProviderState>;
  /** The last answer, however old, without waiting for another. */
  known(): ProviderState | undefined;
}

export interface ProviderCheckOptions {
  readonly request: ProviderRequest;
  /** The environment the CLI gets: its proxy variables count. */
  readonly env: Readonly<Record<string, string>>;
  readonly now: () => Date;
  readonly timeoutMs: number;
}

/** How long an answer holds: an API that is there stays, an absent one may be a setting that is being fixed. */
const KEPT_MS = { present: 3_600_000, absent: 60_000, unproven: 60_000 } as const;
const MAX_BODY_BYTES = 4_096;

/** Makes the check. Nothing is sent before it is asked. */
export function createProviderCheck(options: ProviderCheckOptions): ProviderCheck {
  let last: ProviderState | undefined;
  const ask = shareAnswer({
    ask: async (signal) => (last = await check(options, signal)),
    keptMs: ({ api }: ProviderState) => KEPT_MS[api],
    clockMs: () => options.now().getTime(),
  });
  return { ask, known: () => last };
}

/** As `GET /v1/executors/{id}` shows it. */
export function describeProvider(state: ProviderState): NonNullable<ExecutorInfo["provider"]> {
  return { url: state.url, api: state.api, message: state.message, checked_at: state.checkedAt.toISOString() };
}

async function check(
  { request, env, now, timeoutMs }: ProviderCheckOptions,
  stopping: AbortSignal,
): Promise<ProviderState> {
  const { origin, pathname } = new URL(request.url);
  const common = { url: `${origin}${pathname}`, checkedAt: now() };
  const limit = startTimeLimit(timeoutMs, stopping);
  try {
    const answer = await post(request, env, limit.signal);
    return { ...common, ...request.judge(answer), answer };
  } catch (error) {
    stopping.throwIfAborted();
    // Whatever kept the answer away may not be there for the CLI: the turn runs and finds out.
    const reason = limit.signal.aborted ? `not within ${timeoutMs} ms` : codeOf(error);
    return { ...common, api: "unproven", message: `POST ${common.url} was not answered (${reason}).` };
  } finally {
    limit.release();
  }
}

/** Its code alone: a message may quote a header. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "the connection broke";
}

/** Follows no redirect: the key goes to the configured address and to no other. */
async function post(
  { url, headers, body }: ProviderRequest,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  // Node honours the proxy variables of this option alone, as the CLI honours those of its environment.
  const agentOptions = { keepAlive: false, proxyEnv: env };
  const options = { method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(body) }, signal };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.startsWith("https:")
    ? https.request(url, { ...options, agent: new https.Agent(agentOptions) }, resolve)
    : requestHttp(url, { ...options, agent: new HttpAgent(agentOptions) }, resolve);
  request.on("error", reject);
  request.end(body);
  try {
    const response = await promise;
    return { status: response.statusCode ?? 0, body: await readHead(response) };
  } finally {
    request.destroy();
  }
}

async function readHead(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const body: AsyncIterable<Buffer> = response;
  for await (const bytes of body) {
    chunks.push(bytes);
    size += bytes.length;
    if (size >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).toString("utf8", 0, MAX_BODY_BYTES);
}
