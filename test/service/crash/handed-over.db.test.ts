import { describe, expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startTestService } from "../harness/service.ts";
import { ENGINES, freshDatabase } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  test("a service that is stopped hands its runs over, and the next one goes on at once where it was", async () => {
    const turnd = await fakeDaemon();
    const database = await freshDatabase(kind);
    const options = {
      directory: temporaryDirectory(onTestFinished),
      turndUrl: turnd.url,
      databaseUrl: database.kind === "postgres" ? database.url : undefined,
    };
    const first = await startTestService(options);
    const { run_id: runId } = await first.submit(await first.thread(), "paced 60 0.1\nDone.");
    const stream = first.events(runId);
    await waitFor("events", async () => (await first.call("GET", `/api/agent/runs/${runId}`)).body.run.last_seq > 5);
    await first.stop();
    // Closed, and no word of an error or an end: the run goes on.
    const seen = await stream;
    expect(seen.some(({ event }) => event === "error" || event === "end")).toBe(false);

    const second = await startTestService(options);
    expect(await second.result(runId)).toMatchObject({ status: "completed", output: "Done." });
    const events = await second.events(runId);
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
    expect(events.slice(0, seen.length)).toEqual(seen);
    const attempts = events.filter(({ data }) => data.payload.name === "svc.attempt").map(({ data }) => data.payload);
    expect(attempts).toEqual([{ name: "svc.attempt", attempt: 2, reason: "handed_over" }]);
    expect((await turnd.request("GET", "/v1/turns")).body.turns).toHaveLength(1);
  });
});
