import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import https from "node:https";
import type { ExecutorInfo } from "../../../protocol/index.ts";
import type {
  CertificateVariables,
  ProviderAnswer,
  ProviderRequest,
  ProviderVerdict,
} from "../../executors/contract/provider-request.ts";
import { chooseProxy, type Proxy } from "./provider-proxy.ts";
import { readTrust } from "./provider-trust.ts";
import { shareAnswer, type SharedAnswer } from "./shared-answer.ts";
import { startTimeLimit } from "../../process/time-limit.ts";

/** What is known of a provider. */
export interface ProviderState extends ProviderVerdict {
  readonly url: string;
  readonly checkedAt: Date;
  /** The head of what it answered, for the evidence; undefined when it did not. */
  readonly answer?: ProviderAnswer;
  /** Why it did not answer; undefined when it did. */
  readonly fault?: string;
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
  /** The environment the CLI gets: its proxies and certificates count. */
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
    const reason = limit.signal.aborted ? `not within ${timeoutMs} ms` : describeError(error);
    const fault = `POST ${common.url} was not answered (${reason})`;
    return { ...common, api: "unproven", message: `${fault}.`, fault };
  } finally {
    limit.release();
  }
}

/** A reason of turnd's own for which no request was sent, or none was answered. */
class CheckError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "CheckError";
  }
}

/** Only its code: a message may quote a header. */
function describeError(error: unknown): string {
  if (error instanceof CheckError) return error.message;
  return error instanceof Error && "code" in error ? String(error.code) : "the connection broke";
}

/** What OpenSSL and Node call a certificate that is not believed. */
const NOT_TRUSTED =
  /^(?:UNABLE_TO_(?:VERIFY|GET)|DEPTH_ZERO|SELF_SIGNED|CERT_|ERR_TLS_CERT_|INVALID_CA|HOSTNAME_MISMATCH)/;

function toCheckError(error: unknown, { replacing, adding }: CertificateVariables, faults: readonly string[]): unknown {
  const code = describeError(error);
  if (!NOT_TRUSTED.test(code)) return error;
  const cause =
    faults.length > 0 ? faults.join("; ") : `its authority is named by none of ${[...adding, ...replacing].join(", ")}`;
  return new CheckError(`its certificate is not believed, ${code}: ${cause}`, error);
}

/** Follows no redirect: the key goes to the configured address and to no other. */
async function post(
  { url, headers, body, certificates }: ProviderRequest,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  // Node takes only the proxy of this option, as the CLI takes those of its environment.
  const agentOptions = { keepAlive: false, proxyEnv: toProxyEnv(chooseProxy(url, env)) };
  const isSecure = url.startsWith("https:");
  const trust = isSecure ? await readTrust(certificates, env) : undefined;
  signal.throwIfAborted();
  const options = { method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(body) }, signal };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = isSecure
    ? https.request(
        url,
        {
          ...options,
          // Said outright: otherwise NODE_TLS_REJECT_UNAUTHORIZED would hand the key to whoever answers.
          agent: new https.Agent({ ...agentOptions, ca: [...(trust?.authorities ?? [])], rejectUnauthorized: true }),
        },
        resolve,
      )
    : requestHttp(url, { ...options, agent: new HttpAgent(agentOptions) }, resolve);
  request.on("error", reject);
  request.end(body);
  try {
    const response = await promise;
    return { status: response.statusCode ?? 0, body: await readHead(response) };
  } catch (error) {
    throw toCheckError(error, certificates, trust?.faults ?? []);
  } finally {
    request.destroy();
  }
}

/** @throws {CheckError} for a kind of proxy that Node cannot use: without it the key would go another way */
function toProxyEnv(proxy: Proxy | undefined): Record<string, string> {
  if (proxy === undefined) return {};
  const address = URL.parse(proxy.address);
  if (address === null || !/^https?:$/.test(address.protocol)) {
    throw new CheckError(`not sent: turnd cannot use the kind of proxy that ${proxy.variable} names`);
  }
  return { HTTPS_PROXY: address.href, HTTP_PROXY: address.href };
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
