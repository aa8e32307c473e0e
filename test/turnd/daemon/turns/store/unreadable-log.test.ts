import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const FAULTS: Readonly<Record<string, (path: string) => void>> = {
  missing: () => {},
  "a directory": (path) => mkdirSync(path),
  garbage: (path) => writeFileSync(path, "garbage\n"),
  empty: (path) => writeFileSync(path, ""),
};

test.each(Object.entries(FAULTS))(
  "a client that waits for a turn whose log is %s as it ends learns that it has ended, and gets the result later",
  async (_, put) => {
    const turnd = await fakeDaemon();
    const go = join(turnd.workspace, "go");
    const ran = join(turnd.workspace, "ran");
    const input = `shell printf x >> ${ran}; until [ -e ${go} ]; do sleep 0.05; done\nafter all`;
    const body = { executor: "cli-b", input, request_id: "request-that-waits" };
    const waiting = turnd.request("POST", "/v1/turns?wait_ms=60000", body);
    const turn = await waitFor("the turn", async () => {
      const { turns } = (await turnd.request("GET", "/v1/turns?status=running")).body;
      return turns[0]?.last_seq > 1 && turns[0];
    });
    const log = join(turnd.state, "sessions", turn.session_id, "turns", turn.turn_id, "events.jsonl");
    renameSync(log, `${log}.away`);
    put(log);
    writeFileSync(go, "");

    const answer = await waiting;
    expect([answer.status, answer.body]).toEqual([
      202,
      expect.objectContaining({ turn_id: turn.turn_id, status: "completed", result_url: turn.result_url }),
    ]);
    const result = await turnd.request("GET", turn.result_url);
    expect([result.status, result.body.detail.code]).toEqual([507, "storage_full"]);
    expect(result.body.detail.message).toContain("has ended, and its log cannot be read");
    expect(turnd.log.some((line) => line.includes("log of an ended turn cannot be read"))).toBe(_ !== "empty");
    // A repeat is the same turn, and answered the same.
    expect((await turnd.request("POST", "/v1/turns?wait_ms=60000", body)).status).toBe(202);

    rmSync(log, { recursive: true, force: true });
    renameSync(`${log}.away`, log);
    const later = await turnd.request("POST", "/v1/turns?wait_ms=60000", body);
    expect([later.status, later.body.output]).toEqual([200, "after all"]);
    expect((await turnd.request("GET", turn.result_url)).body.status).toBe("completed");
  },
);
