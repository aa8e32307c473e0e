import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import type { LoggedEvent } from "../../../../../src/turnd/protocol/index.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../../../../harness/otlp-receiver.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const HEADER_KEY = "receiver-key-5c1e0d7f";

function otlp({ url }: OtlpReceiver, env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
    ...env,
  };
}

async function admit(turnd: TestDaemon, input: string, flags = "01"): Promise<{ turn_id: string; session_id: string }> {
  const headers = { traceparent: `00-${TRACE}-${CALLER}-${flags}` };
  return (await turnd.request("POST", "/v1/turns", { executor: "cli-b", input }, headers)).body;
}

async function ended(turnd: TestDaemon, turnId: string): Promise<LoggedEvent[]> {
  await waitFor("the end", async () => (await turnd.request("GET", `/v1/turns/${turnId}/result`)).status === 200);
  return turnd.events(turnId);
}

function traceparentOf(events: readonly LoggedEvent[]): string {
  const [started] = events;
  if (started?.type !== "turn.started") throw new Error("the first event is no turn.started");
  return started.data.traceparent ?? "";
}

function turnDirectory(turnd: TestDaemon, [started]: readonly LoggedEvent[]): string {
  return join(turnd.state, "sessions", started?.session_id ?? "", "turns", started?.turn_id ?? "");
}

async function spansNamed(receiver: OtlpReceiver, ...names: string[]): Promise<Map<string, ReceivedSpan>> {
  return waitFor(`the spans ${names.join(", ")}`, () => {
    const found = new Map(receiver.spans.map((span) => [span.name, span]));
    return names.every((name) => found.has(name)) && found;
  });
}

test("a turn's spans are the caller's children, name what happened, and hold nothing that was said", async () => {
  const receiver = await startOtlpReceiver();
  const turnd = await fakeDaemon(
    otlp(receiver, {
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${HEADER_KEY}`,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      TURND_LOG_LEVEL: "trace",
    }),
  );
  const { turn_id: turnId, session_id: sessionId } = await admit(
    turnd,
    "the-prompt\ntool ls the-argument\nenv\nexit 3",
  );
  const events = await ended(turnd, turnId);
  const spans = await spansNamed(
    receiver,
    "turn.admission",
    "turn",
    "turn.queue",
    "turn.run",
    "tool command_execution",
  );
  expect(spans.size).toBe(5);
  const own = spans.get("turn");
  expect(own).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, isError: true });
  expect(own?.attributes).toMatchObject({
    "turnd.turn.id": turnId,
    "turnd.session.id": sessionId,
    "turnd.executor": "cli-b",
    "turnd.cli.version": "0.139.0",
    "turnd.status": "failed",
    "error.type": "crashed",
    "turnd.tools": 1,
    "turnd.replay": false,
  });
  for (const [name, span] of spans) {
    expect(span.traceId).toBe(TRACE);
    if (name !== "turn") expect(span.parentSpanId).toBe(own?.spanId);
    expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
  }
  expect(spans.get("turn.queue")?.endMs).toBe(spans.get("turn.run")?.startMs);
  expect(spans.get("turn.run")?.endMs).toBe(own?.endMs);
  expect(spans.get("tool command_execution")?.attributes).toMatchObject({ "turnd.tool.exit_code": 0 });
  expect(receiver.service()).toMatchObject({
    "service.name": "turnd",
    "service.version": expect.any(String),
    "deployment.environment.name": "test",
  });

  // What the event names, what the CLI has got and what is sent are one span.
  expect(traceparentOf(events)).toBe(`00-${TRACE}-${own?.spanId}-01`);
  expect(JSON.stringify(events)).toContain(`\\nTRACEPARENT=${traceparentOf(events)}`);
  const [request] = receiver.requests;
  expect([request?.path, request?.headers.authorization]).toEqual(["/v1/traces", `Bearer ${HEADER_KEY}`]);
  const sent = Buffer.concat(receiver.requests.map(({ body }) => body)).toString("utf8");
  for (const said of ["the-prompt", "the-argument", "FAKE-KEY", HEADER_KEY, turnd.workspace]) {
    expect(sent).not.toContain(said);
  }
  // Not even to the CLI, whose environment is among the events.
  expect(JSON.stringify(events)).not.toContain("OTEL_");
  expect(turnd.log.join("\n")).not.toContain(HEADER_KEY);
});

test("a turn that goes on after kill -9 has all of its spans, linked with the restart", async () => {
  const receiver = await startOtlpReceiver();
  const directory = temporaryDirectory(onTestFinished);
  const before = await fakeDaemonIn(directory, otlp(receiver));
  const { turn_id: turnId } = await admit(before, "tool ls\nhang");
  await waitFor("the tool", async () => (await before.events(turnId)).some(({ type }) => type === "tool.ended"));
  before.kill("SIGKILL");
  await before.exited;
  const turnd = await fakeDaemonIn(directory, otlp(receiver));
  await turnd.request("POST", `/v1/turns/${turnId}/cancel`);
  const events = await ended(turnd, turnId);
  const spans = await spansNamed(
    receiver,
    "turn",
    "turn.run",
    "tool command_execution",
    "turn.recovery",
    "turnd.recovery",
  );
  const own = spans.get("turn");
  expect(traceparentOf(events)).toBe(`00-${TRACE}-${own?.spanId}-01`);
  expect(own).toMatchObject({ isError: false, attributes: { "turnd.status": "cancelled" } });
  const [restart, recovery, tool] = ["turnd.recovery", "turn.recovery", "tool command_execution"].map((name) =>
    spans.get(name),
  );
  expect(restart).toMatchObject({ parentSpanId: "", links: [own?.spanId], attributes: { "turnd.turns.resumed": 1 } });
  expect(restart?.traceId).not.toBe(TRACE);
  expect(recovery).toMatchObject({ traceId: TRACE, parentSpanId: own?.spanId, links: [restart?.spanId] });
  // It was logged by the daemon that is gone.
  expect(tool?.endMs).toBeLessThan(restart?.startMs ?? 0);
});

test("a turn without a caller's trace begins one, and by protobuf the spans are the same", async () => {
  const receiver = await startOtlpReceiver();
  const turnd = await fakeDaemon(otlp(receiver, { OTEL_EXPORTER_OTLP_PROTOCOL: "" }));
  const { turn_id: turnId } = await turnd.run({ executor: "cli-b", input: "tool ls\nexit 3" });
  const spans = await spansNamed(
    receiver,
    "turn.admission",
    "turn",
    "turn.queue",
    "turn.run",
    "tool command_execution",
  );
  const own = spans.get("turn");
  expect(own).toMatchObject({ parentSpanId: "", isError: true });
  expect(traceparentOf(await turnd.events(turnId))).toBe(`00-${own?.traceId}-${own?.spanId}-01`);
  expect(spans.get("tool command_execution")).toMatchObject({ traceId: own?.traceId, parentSpanId: own?.spanId });
  expect(Math.abs((own?.endMs ?? 0) - Date.now())).toBeLessThan(600_000);
  expect(receiver.requests[0]?.headers["content-type"]).toBe("application/x-protobuf");
});

test("what the caller has not sampled is passed on and not sent", async () => {
  const receiver = await startOtlpReceiver();
  const turnd = await fakeDaemon(otlp(receiver));
  const { turn_id: unsampled } = await admit(turnd, "hello", "00");
  const events = await ended(turnd, unsampled);
  expect(traceparentOf(events)).toMatch(new RegExp(`^00-${TRACE}-(?!${CALLER})[0-9a-f]{16}-00$`));
  const { turn_id: sampled } = await turnd.run({ executor: "cli-b", input: "hello" });
  await spansNamed(receiver, "turn", "turn.admission");
  expect(await turnd.stop()).toBe(0);
  expect(new Set(receiver.spans.map(({ attributes }) => attributes["turnd.turn.id"]))).toEqual(new Set([sampled]));
});

test("a turn whose session is deleted while it runs is sent, too", async () => {
  const receiver = await startOtlpReceiver();
  const turnd = await fakeDaemon(otlp(receiver));
  const { turn_id: turnId, session_id: sessionId } = await admit(turnd, "tool ls\nhang");
  await waitFor("the tool", async () => (await turnd.events(turnId)).some(({ type }) => type === "tool.ended"));
  expect((await turnd.request("DELETE", `/v1/sessions/${sessionId}`)).status).toBe(204);
  const spans = await spansNamed(receiver, "turn", "turn.run");
  expect(spans.get("turn")?.attributes).toMatchObject({ "turnd.status": "cancelled", "turnd.tools": 1 });
});

test("a stop sends what waits", async () => {
  const receiver = await startOtlpReceiver();
  const turnd = await fakeDaemon(otlp(receiver, { OTEL_BSP_SCHEDULE_DELAY: "600000" }));
  await turnd.run({ executor: "cli-b", input: "hello" });
  expect(await turnd.stop()).toBe(0);
  expect(receiver.spans.map(({ name }) => name).toSorted()).toEqual([
    "turn",
    "turn.admission",
    "turn.queue",
    "turn.run",
  ]);
});

test.each(["never", 500, "nobody"] as const)(
  "a receiver that answers %s holds up neither a turn nor the stop, and is reported once",
  async (answer) => {
    const receiver = await startOtlpReceiver(answer === "nobody" ? 200 : answer);
    const endpoint = answer === "nobody" ? { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } : {};
    const turnd = await fakeDaemon(otlp(receiver, { OTEL_EXPORTER_OTLP_TIMEOUT: "200", ...endpoint }));
    for (const _ of [1, 2]) {
      expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");
    }
    const faults = (): string[] => turnd.log.filter((line) => line.includes('"fault with spans"'));
    await waitFor("the fault", () => faults().length > 0);
    const startedAt = performance.now();
    expect(await turnd.stop()).toBe(0);
    // Far less than the retries of the SDK take.
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    expect(faults()).toHaveLength(1);
  },
);

test("without a receiver a caller's traceparent is passed on as it came, and there is none without one", async () => {
  const turnd = await fakeDaemon();
  const { turn_id: traced } = await admit(turnd, "env");
  const events = await ended(turnd, traced);
  expect(traceparentOf(events)).toBe(`00-${TRACE}-${CALLER}-01`);
  expect(JSON.stringify(events)).toContain(`\\nTRACEPARENT=00-${TRACE}-${CALLER}-01`);
  const replayed = await execa(process.execPath, [inject("turnd"), "replay", turnDirectory(turnd, events)], {
    env: fakeEnv(dirname(turnd.state)),
  });
  expect(JSON.parse(replayed.stdout.split("\n")[0] ?? "")).toMatchObject({ data: events[0]?.data });
  const { turn_id: untraced } = await turnd.run({ executor: "cli-b", input: "env" });
  const others = await turnd.events(untraced);
  expect(others[0]?.data).not.toHaveProperty("traceparent");
  expect(JSON.stringify(others)).not.toContain("TRACEPARENT");
});

test("a variable that cannot be followed is reported, and turnd serves without spans", async () => {
  const turnd = await fakeDaemon({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:hidden-password-1@127.0.0.1:9",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
  });
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");
  const log = turnd.log.join("\n");
  expect(log).toContain("no spans are sent: OTEL_EXPORTER_OTLP_PROTOCOL is grpc");
  expect(log).not.toContain("hidden-password-1");
});

test("the SDK is in a file of its own, which is loaded where spans are sent alone", () => {
  const bundle = inject("turnd");
  const sdk = "BatchSpanProcessor";
  expect(readFileSync(join(dirname(bundle), "otlp-tracing.cjs"), "utf8")).toContain(sdk);
  for (const name of ["main.mjs", "program.cjs"])
    expect(readFileSync(join(dirname(bundle), name), "utf8")).not.toContain(sdk);
});
