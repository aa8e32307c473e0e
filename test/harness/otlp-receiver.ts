import { createServer, type IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { readProtobufSpans } from "./otlp-protobuf.ts";

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** Ids of the spans that it links to. */
  readonly links: readonly string[];
}

/** A receiver of OTLP over HTTP, in JSON and in protobuf. */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Of each request; the body as it came. */
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[];
  /** Attributes of the service that sent last. */
  service(): Readonly<Record<string, unknown>>;
}

const Value = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.string(), z.number()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, plain(value)])));
const nanos = z.string().transform((text) => Number(BigInt(text) / 1_000n) / 1_000);

/** @see opentelemetry-proto, trace/v1/trace.proto, in its JSON form */
const Request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string().regex(/^[0-9a-f]{32}$/),
              spanId: z.string().regex(/^[0-9a-f]{16}$/),
              parentSpanId: z.string().default(""),
              startTimeUnixNano: nanos,
              endTimeUnixNano: nanos,
              attributes: Attributes,
              status: z.object({ code: z.number().optional() }),
              links: z.array(z.object({ spanId: z.string() })).default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});

/**
 * Starts a receiver on loopback.
 *
 * @param answer - the status of each answer; `never` leaves every request open
 */
export async function startOtlpReceiver(answer: number | "never" = 200): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: OtlpReceiver["requests"] = [];
  let service: Readonly<Record<string, unknown>> = {};

  function take(path: string, headers: IncomingHttpHeaders, body: Buffer): void {
    requests.push({ path, headers, body });
    if (headers["content-type"] !== "application/json") {
      spans.push(...readProtobufSpans(body));
      return;
    }
    for (const { resource, scopeSpans } of Request.parse(JSON.parse(body.toString("utf8"))).resourceSpans) {
      service = resource.attributes;
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        const { startTimeUnixNano: startMs, endTimeUnixNano: endMs, status, links, ...rest } = span;
        spans.push({ ...rest, startMs, endMs, isError: status.code === 2, links: links.map(({ spanId }) => spanId) });
      }
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      take(request.url ?? "", request.headers, Buffer.concat(chunks));
      if (answer !== "never") response.writeHead(answer, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the receiver listens on no port");
  return { url: `http://127.0.0.1:${address.port}`, spans, requests, service: () => service };
}

function plain({ stringValue, intValue, doubleValue, boolValue }: z.output<typeof Value>): unknown {
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;
}
