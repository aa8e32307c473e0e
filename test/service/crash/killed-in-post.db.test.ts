import { describe, expect, test, vi } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startLossyProxy } from "../harness/lossy-proxy.ts";
import { expectWholeStream, makeSite, turnsOf, type Killable } from "../harness/killable.ts";
import { ENGINES, type EngineKind } from "../harness/storage.ts";

// Two starts of a service, a lease on PostgreSQL, and all this on a loaded machine.
vi.setConfig({ testTimeout: 240_000 });

/** A service whose way to turnd a test can cut, and what a second one on the same database needs. */
async function setUp(kind: EngineKind) {
  const turnd = await fakeDaemon();
  const proxy = await startLossyProxy(turnd.url);
  const site = await makeSite(kind, proxy.url);
  const service = await site.start();
  const threadId = await service.thread();
  const submission = (requestId: string, query: string, more: Record<string, unknown> = {}) => ({
    agent_slug: "cli-b",
    thread_id: threadId,
    query,
    meta: { request_id: requestId },
    ...more,
  });
  const turnIds = () => turnsOf(turnd);

  return {
    service,
    submission,
    turnIds,
    /** Kills the service at its next turn, which turnd gets or does not get, and whose answer the service does not see. */
    async killAtNextTurn(isDelivered: boolean): Promise<void> {
      const known = proxy.asked.filter((each) => each === "POST /v1/turns").length;
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      proxy.decide((method, path) => {
        if (method !== "POST" || path !== "/v1/turns") return "pass";
        resolve();
        if (isDelivered) return "hold";
        service.kill("SIGKILL");
        return "refuse";
      });
      await reached;
      if (isDelivered) {
        await waitFor("turnd has the turn", async () => (await turnIds()).length > known);
        service.kill("SIGKILL");
      }
      await service.exited;
      expect((await turnIds()).length).toBe(known + (isDelivered ? 1 : 0));
      proxy.decide(() => "pass");
    },
    startAgain: () => site.start(),
  };
}

async function expectWhole(service: Killable, runId: string, output: string): Promise<void> {
  const result = await service.result(runId);
  expect(result).toMatchObject({ status: "completed", error: null });
  expect(result.output).toContain(output);
  await expectWholeStream(service, runId, runId);
}

describe.each(ENGINES)("%s", (kind) => {
  // Both at once: on PostgreSQL each of them waits for a lease.
  test("killed between the POST of a turn and its arrival, or its answer: one turn, which completes", async () => {
    await Promise.all(
      [false, true].map(async (isDelivered) => {
        const { service, submission, turnIds, killAtNextTurn, startAgain } = await setUp(kind);
        const killed = killAtNextTurn(isDelivered);
        const request = submission("request-0001", "Done.");
        await service.call("POST", "/api/agent/runs", request).catch(() => undefined);
        await killed;
        const again = await startAgain();
        const { body } = await again.call("POST", "/api/agent/runs", request);
        await expectWhole(again, body.run_id, "Done.");
        expect(await turnIds(), `delivered: ${isDelivered}`).toEqual([body.run_id]);
      }),
    );
  });

  test("killed between the promise of a steer and its POST's arrival, or its answer: one turn, after its target", async () => {
    await Promise.all(
      [false, true].map(async (isDelivered) => {
        const { service, submission, turnIds, killAtNextTurn, startAgain } = await setUp(kind);
        const long = `before\n${"tool ls\nsleep 0.1\n".repeat(1_000)}`;
        const { body: target } = await service.call("POST", "/api/agent/runs", submission("request-0001", long));
        await waitFor("the turn", async () => (await turnIds()).length === 1);
        const killed = killAtNextTurn(isDelivered);
        const steering = submission("request-0002", "Other way.", { queue_policy: "steer" });
        await waitFor("the steer is taken", async () => {
          const answer = await service.call("POST", "/api/agent/runs", steering).catch(() => undefined);
          return answer === undefined || answer.status === 200;
        });
        await killed;

        const again = await startAgain();
        await expectWhole(again, target.run_id, "");
        const steer = await waitFor("the steer's run", async () => {
          const { body } = await again.call("GET", "/api/agent/requests/request-0002");
          return body.request.run_id ?? undefined;
        });
        await expectWhole(again, steer, "Other way.");
        const turns = await turnIds();
        expect(turns, `delivered: ${isDelivered}`).toHaveLength(2);
        expect(turns).toEqual(expect.arrayContaining([target.run_id, steer]));
      }),
    );
  });
});
