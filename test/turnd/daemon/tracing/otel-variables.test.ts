import { diag } from "@opentelemetry/api";
import { pino } from "pino";
import { expect, test } from "vitest";
import { readSpanDestination, secretsOfOtel } from "../../../../src/turnd/daemon/tracing/otel-variables.ts";
import { createFaultLog, listenToSdk } from "../../../../src/turnd/daemon/tracing/span-faults.ts";

const URL = "http://collector:4318";
const OFF = { isOn: false };
const on = (protocol: string, origin = URL) => ({ isOn: true, protocol, origin });
const off = (reason: string) => ({ isOn: false, warning: `no spans are sent: ${reason}` });

test.each([
  [{}, OFF],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: " " }, OFF],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_SERVICE_NAME: "x" }, OFF],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: URL }, on("http/protobuf")],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${URL}/v1/traces` }, on("http/protobuf")],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: "nonsense", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://user:secret@other/x?y" },
    on("http/protobuf", "https://other"),
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, on("http/json")],
  [
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: URL,
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
    },
    on("http/json"),
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_SDK_DISABLED: "TRUE" }, OFF],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_TRACES_EXPORTER: "none" }, OFF],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_TRACES_EXPORTER: "zipkin" },
    off("OTEL_TRACES_EXPORTER is zipkin: it must be otlp or none"),
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    off("OTEL_EXPORTER_OTLP_PROTOCOL is grpc: it must be http/protobuf or http/json"),
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, off("OTEL_EXPORTER_OTLP_ENDPOINT is no http URL")],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "ftp://user:secret@x" },
    off("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no http URL"),
  ],
])("with %j spans go %j", (env, expected) => {
  expect(readSpanDestination(env)).toEqual(expected);
});

test("the values of the receiver's headers are secrets, as they are written and as they are sent", () => {
  const secrets = secretsOfOtel({
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20key-of-all,x-tenant=a",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-key=key-of-traces%",
  });
  expect(secrets).toEqual(expect.arrayContaining(["Bearer%20key-of-all", "key-of-all", "key-of-traces%"]));
  expect(secrets).not.toContain("a");
});

test("faults with spans are one line a minute, with how many others there were", () => {
  const lines: string[] = [];
  let nowMs = 0;
  const report = createFaultLog(
    pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) }),
    () => nowMs,
  );
  report("first");
  for (nowMs = 1; nowMs < 60_000; nowMs += 1_000) report("more");
  nowMs = 60_000;
  report("x".repeat(1_000));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { level: 40, reason: "first", msg: "fault with spans" },
    { level: 40, reason: "x".repeat(300), omitted: 60, msg: "fault with spans" },
  ]);
});

test("what the SDK warns of is reported with all that it says", () => {
  const told: string[] = [];
  listenToSdk((message) => told.push(message));
  diag
    .createComponentLogger({ namespace: "Exporter" })
    .warn("a part was refused:", { rejectedSpans: 5 }, new Error("too old"));
  diag.info("all is well");
  expect(told).toEqual(['Exporter a part was refused: {"rejectedSpans":5} too old']);
});
