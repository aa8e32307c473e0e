import { expect, test } from "vitest";
import { createTurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { readTraceparent } from "../../../src/kit/http/traceparent.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { startOtlpReceiver } from "../../harness/otlp-receiver.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { freshService } from "../harness/service.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const NONE = "0".repeat(32);

test.each([
  [`00-${TRACE}-${PARENT}-01`, `00-${TRACE}-${PARENT}-01`],
  [`  00-${TRACE}-${PARENT}-00 `, `00-${TRACE}-${PARENT}-00`],
  [`cc-${TRACE}-${PARENT}-01-what-comes-later`, `00-${TRACE}-${PARENT}-01`],
  [`00-${TRACE}-${PARENT}-01-more`, undefined],
  [`cc-${TRACE}-${PARENT}-01more`, undefined],
  [`ff-${TRACE}-${PARENT}-01`, undefined],
  [`00-${NONE}-${PARENT}-01`, undefined],
  [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-${PARENT}-01`, undefined],
  ["", undefined],
  [undefined, undefined],
])("traceparent %j is read as %j", (header, expected) => {
  expect(readTraceparent(header)).toBe(expected);
});

test("a trace goes from the call through the log, the run's metadata and the attempt to its turn and its spans", async () => {
  const lines: string[] = [];
  const receiver = await startOtlpReceiver();
  const turnd = await fakeDaemon({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
  });
  const service = await freshService("postgres", { turndUrl: turnd.url, onLog: (line) => lines.push(line) });
  const threadId = await service.thread();
  const traced = [];
  const calls = [
    ["/api/agent/runs", { agent_slug: "cli-b", thread_id: threadId, query: "Done." }],
    [
      "/api/agent-invocation/agent-call/runs",
      { agent_slug: "cli-b", messages: [{ role: "user", content: "Done." }], async_mode: true },
    ],
    ["/api/agent-invocation/eval/runs", { agent_slug: "cli-b", query: "Done." }],
  ] as const;
  for (const [index, [path, body]] of calls.entries()) {
    const traceId = `${TRACE.slice(0, -1)}${index}`;
    const headers = { traceparent: `00-${traceId}-${PARENT}-01` };
    const { run_id: runId } = (await service.call("POST", path, body, headers)).body;
    await service.result(runId);
    const [metadata] = await service.events(runId);
    expect(metadata).toMatchObject({ event: "metadata", data: { payload: { trace_id: traceId } } });
    traced.push({ traceId, runId, path });
  }
  const client = createTurndClient({ baseUrl: turnd.url });
  for (const { traceId, runId, path } of traced) {
    const turn = await client.turnOfRequest(runId);
    const started = await firstEvent(client.follow(turn?.turn_id ?? "", { lostAfterMs: 30_000 }));
    const span = await waitFor("the turn's span", () =>
      receiver.spans.find(({ name, attributes }) => name === "turn" && attributes["turnd.request.id"] === runId),
    );
    expect(span).toMatchObject({ traceId, parentSpanId: PARENT });
    const traceparent = `00-${traceId}-${span.spanId}-01`;
    expect(started).toMatchObject({ type: "turn.started", data: { trace_id: traceId, traceparent } });
    const turndLog = turnd.log.map((line) => JSON.parse(line));
    expect(turndLog).toContainEqual(expect.objectContaining({ msg: "turn ended", turnId: turn?.turn_id, traceId }));
    const logged = lines.map((line) => JSON.parse(line)).filter((line) => line.trace_id === traceId);
    expect(logged).toContainEqual(expect.objectContaining({ msg: "request answered", route: path, status: 200 }));
    expect(logged).toContainEqual(expect.objectContaining({ msg: "attempt at a run began", runId, attempt: 1 }));
  }
  // A call without a trace leaves none in the log.
  const untraced = lines.map((line) => JSON.parse(line)).filter(({ route }) => route === "/api/chat/thread");
  expect(untraced).toHaveLength(1);
  expect(untraced[0]).not.toHaveProperty("trace_id");
});

async function firstEvent<T>(events: AsyncIterable<T>): Promise<T | undefined> {
  for await (const event of events) return event;
  return undefined;
}
