import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startPostgresCluster } from "../harness/postgres-cluster.ts";
import { startTestService } from "../harness/service.ts";

test("PostgreSQL crashes and comes back in the middle of a run: callers get 503 meanwhile, and nothing is lost", async () => {
  const cluster = await startPostgresCluster();
  onTestFinished(() => cluster.stop());
  const service = await startTestService({ turndUrl: (await fakeDaemon()).url, databaseUrl: cluster.url });
  const thread = await service.thread();
  const { run_id: runId } = await service.submit(thread, "paced 60 0.1\nDone.");
  await waitFor("events", async () => (await service.call("GET", `/api/agent/runs/${runId}`)).body.run.last_seq > 5);
  const restarting = cluster.restart("SIGQUIT");
  const away = await waitFor("a refusal", async () => {
    const answer = await service.call("GET", `/api/agent/runs/${runId}`);
    return answer.status === 200 ? undefined : answer;
  });
  expect(away).toMatchObject({ status: 503, body: { detail: { code: "not_ready" } } });
  expect(away.headers.get("retry-after")).toBe("5");
  await restarting;
  const result = await waitFor("the end", async () => {
    const { body } = await service.call("GET", `/api/agent/runs/${runId}/result`);
    return body?.final === true ? body : undefined;
  });
  expect(result).toMatchObject({ status: "completed", output: "Done." });
  const events = await service.events(runId);
  expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ event }) => event === "end")).toHaveLength(1);
  expect(events.filter(({ data }) => data.payload.items?.[0]?.content?.startsWith("paced"))).toHaveLength(60);
  // Notices come again too: the next run is seen live.
  const next = await service.submit(thread, "Next.");
  expect((await service.events(next.run_id)).at(-1)).toMatchObject({ event: "end" });
});
