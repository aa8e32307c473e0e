import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

let marks = 0;

const newMark = (): string => String(2_000_000 + (process.pid % 10_000) * 100 + marks++);

async function startZoo(turnd: TestDaemon, rest: string) {
  const mark = newMark();
  const turn = await turnd.admit({ executor: "cli-b", input: `shell escapees ${mark}\nready\n${rest}` });
  await waitFor("the escaped processes", async () =>
    (await turnd.events(turn.turn_id)).some((event) => event.type === "message" && event.data.text === "ready"),
  );
  return { mark, turnId: turn.turn_id };
}

test("cancel answers when the tree is empty, with a receipt of what was ended", async () => {
  const turnd = await fakeDaemon({ TURND_CANCEL_GRACE_MS: "200" });
  const { mark, turnId } = await startZoo(turnd, "ignore-signals\nhang");
  expect(processesNaming(mark).length).toBeGreaterThanOrEqual(7);
  const receipt = (await turnd.request("POST", `/v1/turns/${turnId}/cancel`)).body;
  expect(processesNaming(mark)).toEqual([]);
  expect(receipt).toMatchObject({ turn_id: turnId, status: "cancelled", already_ended: false });
  expect(receipt.ended.length).toBeGreaterThanOrEqual(8);
  expect(receipt.ended.every((entry: { signal: string }) => entry.signal.startsWith("SIG"))).toBe(true);
  const again = (await turnd.request("POST", `/v1/turns/${turnId}/cancel`)).body;
  expect(again).toMatchObject({ status: "cancelled", already_ended: true, ended: receipt.ended });
});

test("a cancel that is repeated after kill -9 has the same receipt", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory);
  const { turnId } = await startZoo(turnd, "hang");
  const { body } = await turnd.request("POST", `/v1/turns/${turnId}/cancel`);
  turnd.kill("SIGKILL");
  await turnd.exited;
  const next = await fakeDaemonIn(directory);
  const again = (await next.request("POST", `/v1/turns/${turnId}/cancel`)).body;
  expect(again).toMatchObject({ status: "cancelled", ended: body.ended });
  expect(body.ended).not.toEqual([]);
});

test("CLI B is asked by SIGINT first", async () => {
  const turnd = await fakeDaemon({ TURND_CANCEL_GRACE_MS: "40000" });
  const { turn_id } = await turnd.admit({ executor: "cli-b", input: "hello\nhang" });
  await waitFor("the message", async () => (await turnd.events(turn_id)).some((event) => event.type === "message"));
  const receipt = (await turnd.request("POST", `/v1/turns/${turn_id}/cancel`)).body;
  expect(receipt.ended.map((entry: { signal: string }) => entry.signal)).toEqual(["SIGINT"]);
  const result = (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
  expect(result).toMatchObject({
    status: "cancelled",
    cancelled_by: "request",
    exit: { code: null, signal: "SIGINT" },
  });
});

test("a normal end is swept too", async () => {
  const turnd = await sharedDaemon();
  const mark = newMark();
  expect((await turnd.run({ executor: "cli-b", input: `shell escapees ${mark}\nready` })).status).toBe("completed");
  expect(processesNaming(mark)).toEqual([]);
});

test("another session's processes are not touched", async () => {
  const turnd = await sharedDaemon();
  const [one, other] = [await startZoo(turnd, "hang"), await startZoo(turnd, "hang")];
  await turnd.request("POST", `/v1/turns/${one.turnId}/cancel`);
  expect(processesNaming(one.mark)).toEqual([]);
  expect(processesNaming(other.mark).length).toBeGreaterThanOrEqual(7);
});

test("deleting a session cancels and sweeps its turn first", async () => {
  const turnd = await sharedDaemon();
  const mark = newMark();
  const { turn_id } = await turnd.admit({
    executor: "cli-b",
    session_id: "session-1",
    input: `shell escapees ${mark}\nready\nhang`,
  });
  await waitFor("the escaped processes", async () =>
    (await turnd.events(turn_id)).some((event) => event.type === "message"),
  );
  const types: (string | undefined)[] = [];
  const { promise: isFollowing, resolve } = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const frame of turnd.follow(turn_id)) {
      types.push(frame.event);
      resolve();
    }
  })();
  await isFollowing;
  expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect(processesNaming(mark)).toEqual([]);
  await following;
  expect(types.at(-1)).toBe("end");
  expect((await turnd.request("GET", `/v1/turns/${turn_id}`)).body.detail.code).toBe("turn_not_found");
});

/** `npm run soak` does it for as long as is wanted. */
test("12 rounds of processes that try to escape leave no survivor", { timeout: 300_000 }, async () => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "4", TURND_CANCEL_GRACE_MS: "100" });
  const seen: string[] = [];
  async function round(): Promise<void> {
    const { mark, turnId } = await startZoo(turnd, "ignore-signals\nhang");
    const receipt = await turnd.request("POST", `/v1/turns/${turnId}/cancel`);
    seen.push(mark);
    // What survived is shown with what turnd logged of it.
    expect(processesNaming(mark).map(describeProcess), `${receipt.text}\n${turnd.log.slice(-20).join("\n")}`).toEqual(
      [],
    );
  }
  for (let rounds = 0; rounds < 3; rounds += 1) await Promise.all([round(), round(), round(), round()]);
  expect(seen.flatMap((mark) => processesNaming(mark)).map(describeProcess)).toEqual([]);
});

function describeProcess(pid: number): string {
  try {
    return ["cmdline", "status"].map((name) => readFileSync(`/proc/${pid}/${name}`, "utf8").slice(0, 300)).join("\n");
  } catch {
    return `${pid}, which has ended by now`;
  }
}
