import type { Settings } from "../settings.ts";

type Env = Settings["env"];

/** How spans are written on the wire; OTLP over gRPC is not supported. */
export type OtlpProtocol = "http/protobuf" | "http/json";

/** Whether spans are sent: to where, or why not although a variable asks for it. */
export type SpanDestination =
  | { readonly isOn: true; readonly protocol: OtlpProtocol; readonly origin: string }
  | { readonly isOn: false; readonly warning?: string };

/** The standard variables that are read, by turnd or by the SDK. `docs/reference.md` is made from it. */
export const OTEL_VARIABLES: Readonly<Record<string, string>> = {
  OTEL_EXPORTER_OTLP_ENDPOINT:
    "Where spans are sent: an `http` or `https` URL, `/v1/traces` is added. Without this and the next one nothing is sent, and nothing of the SDK is loaded",
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "The same as a whole URL; goes before it",
  OTEL_EXPORTER_OTLP_PROTOCOL:
    "`http/protobuf` (default) or `http/json`; with `grpc` no spans are sent, and a warning is logged",
  OTEL_EXPORTER_OTLP_HEADERS: "Headers such as `authorization=Bearer%20…`; their values are hidden as keys are",
  OTEL_EXPORTER_OTLP_TIMEOUT: "Longest time to send once, in milliseconds; default 10000",
  OTEL_EXPORTER_OTLP_COMPRESSION: "`gzip` or `none` (default)",
  OTEL_EXPORTER_OTLP_CERTIFICATE: "File of the certificates that the receiver's is checked against",
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: "File of turnd's own certificate",
  OTEL_EXPORTER_OTLP_CLIENT_KEY: "File of its key",
  OTEL_SERVICE_NAME: "`service.name` of the spans; default `turnd`",
  OTEL_RESOURCE_ATTRIBUTES: "Further attributes of the service, `name=value` separated by commas",
  OTEL_TRACES_SAMPLER:
    "`parentbased_always_on` (default), `parentbased_always_off`, `parentbased_traceidratio`, `always_on`, `always_off` or `traceidratio`",
  OTEL_TRACES_SAMPLER_ARG: "The ratio of the samplers that have one, 0 to 1",
  OTEL_BSP_SCHEDULE_DELAY: "Longest time a span waits for others to be sent with, in milliseconds; default 5000",
  OTEL_BSP_MAX_QUEUE_SIZE: "Spans that wait; more are dropped. Default 2048",
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "Spans of one request; default 512",
  OTEL_BSP_EXPORT_TIMEOUT: "Longest time to send a batch, retries included, in milliseconds; default 30000",
  OTEL_TRACES_EXPORTER: "`otlp` (default), or `none` to send nothing",
  OTEL_SDK_DISABLED: "`true` sends nothing",
};

/** Reads whether and where spans are sent. What cannot be followed turns them off: a turnd without spans serves as well. */
export function readSpanDestination(env: Env): SpanDestination {
  const read = (name: string): string | undefined => env[name]?.trim() || undefined;
  const signal = (name: string): string | undefined =>
    read(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? read(`OTEL_EXPORTER_OTLP_${name}`);
  const endpoint = signal("ENDPOINT");
  if (endpoint === undefined || read("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return { isOn: false };
  const exporter = read("OTEL_TRACES_EXPORTER") ?? "otlp";
  if (exporter === "none") return { isOn: false };
  if (exporter !== "otlp") return off(`OTEL_TRACES_EXPORTER is ${exporter}: it must be otlp or none`);
  const protocol = signal("PROTOCOL") ?? "http/protobuf";
  if (protocol !== "http/protobuf" && protocol !== "http/json") {
    return off(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}: it must be http/protobuf or http/json`);
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The value is not shown: it may hold a password.
    const given = ["TRACES_ENDPOINT", "ENDPOINT"].map((name) => `OTEL_EXPORTER_OTLP_${name}`).find(read);
    return off(`${given} is no http URL`);
  }
  return { isOn: true, protocol, origin: url.origin };
}

/** What the variables hold that must not be printed: the values of the receiver's headers, encoded and plain. */
export function secretsOfOtel(env: Env): string[] {
  const headers = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"].map((name) => env[name] ?? "");
  return headers
    .flatMap((list) => list.split(","))
    .map((pair) => pair.slice(pair.indexOf("=") + 1).trim())
    .flatMap((value) => [value, decode(value)])
    .flatMap((value) => [value, value.replace(/^\w+\s+/, "")])
    .filter((value) => value.length >= MIN_SECRET);
}

/** A shorter one could not be taken out of what is printed without taking out other things, too. */
const MIN_SECRET = 8;

function off(reason: string): SpanDestination {
  return { isOn: false, warning: `no spans are sent: ${reason}` };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No percent-encoding: it stands for itself.
    return text;
  }
}
