import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startAttack } from "../../../../harness/attack.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { temporaryDirectory, userDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Makes directories below one, which their owner cannot write, or not even read. */
const closeIn = (path: string): string =>
  `shell cd ${path}; mkdir -p m/p zero/in; touch m/p/f zero/in/f; chmod 555 m/p; chmod 0 zero/in zero`;

const session = { executor: "cli-b", session_id: "session-1" };
const sessionsOf = (turnd: TestDaemon): string[] => readdirSync(join(turnd.state, "sessions"));

test("temporary files are removed from directories that cannot be written", async () => {
  const turnd = await sharedDaemon();
  expect((await turnd.run({ ...session, input: closeIn("$TMPDIR") })).status).toBe("completed");
  const left = join(turnd.state, "sessions/session-1/home/tmp");
  await waitFor("what it left to be removed", () => !existsSync(join(left, "m")));
});

test("removing temporary files changes nothing outside, whatever links lead there", async () => {
  const turnd = await sharedDaemon();
  const outside = join(turnd.workspace, "outside");
  const links = `shell cd $TMPDIR; mkdir ${outside}; touch ${outside}/f; ln ${outside}/f hard; ln -s ${outside} soft; chmod 444 hard; chmod 555 ${outside}`;
  await turnd.run({ ...session, input: `${links}\n${closeIn("$TMPDIR")}` });
  const left = join(turnd.state, "sessions/session-1/home/tmp");
  await waitFor("what it left to be removed", () => !existsSync(join(left, "soft")));
  const modes = [outside, join(outside, "f")].map((path) => (statSync(path).mode & 0o777).toString(8));
  expect(modes).toEqual(["555", "444"]);
});

test("a session is deleted with directories in its home that cannot be written", async () => {
  const turnd = await sharedDaemon();
  // The way to the home itself, too.
  await turnd.run({ ...session, input: `${closeIn("$TMPDIR/..")}\nshell chmod 500 $TMPDIR/..` });
  expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect(sessionsOf(turnd)).toEqual([]);
});

test("nothing of a turn is written or tidied any more when its session is deleted at the sight of its end", async () => {
  const turnd = await sharedDaemon();
  for (let round = 0; round < 5; round += 1) {
    const { turn_id } = await turnd.admit({ ...session, input: "hello" });
    for await (const { event } of turnd.follow(turn_id)) if (event === "turn.ended") break;
    expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  }
  expect(turnd.log.filter((line) => /could not be (written|tidied)/.test(line))).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)(
  "a session is gone when its removal is decided, and what is left of it keeps no daemon from starting",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    await first.run({ ...session, input: "hello" });
    // Not the CLIs' user's to remove.
    mkdirSync(join(first.state, "sessions/session-1/home/roots/own"), { recursive: true });
    expect((await first.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
    expect((await first.request("GET", "/v1/sessions/session-1")).status).toBe(404);
    expect(first.log.some((line) => line.includes("part of a deleted session is left"))).toBe(true);
    // The id is free again, and can be freed once more.
    await first.run({ ...session, input: "hello" });
    expect((await first.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
    const [rest = ""] = sessionsOf(first);
    await first.stop();
    const second = await fakeDaemonIn(directory);
    expect(sessionsOf(second)).toEqual([rest]);
    await second.stop();
    rmSync(join(second.state, "sessions", rest, "home/roots"), { recursive: true });
    const third = await fakeDaemonIn(directory);
    await waitFor("the rest to be removed", () => sessionsOf(third).length === 0);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "deleting a session empties no directory that a process of another session puts in its way",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const turnd = await fakeDaemonIn(directory);
    const target = join(directory, "target");
    mkdirSync(join(target, "deep"), { recursive: true });
    for (const name of ["one", "deep/two"]) writeFileSync(join(target, name), "root's");
    chmodSync(target, 0o700);
    const own = userDirectory(join(directory, "own"));
    await turnd.run({ ...session, input: "hello" });
    const home = join(turnd.state, "sessions/session-1/home");
    const attack = await startAttack("swap-while-removed", home, target, join(own, "attack"));
    expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
    await attack.said;
    expect([readdirSync(target).toSorted(), readdirSync(join(target, "deep"))]).toEqual([["deep", "one"], ["two"]]);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a session whose home is filled without end is deleted in time, and keeps no daemon from starting or stopping",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    await first.run({ ...session, input: "hello" });
    const attack = await startAttack("refill", join(first.state, "sessions/session-1/home"), "600");
    expect((await first.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
    // A part of it is left where the attack is the faster one. Its id is free in any case.
    expect((await first.request("GET", "/v1/sessions/session-1")).status).toBe(404);
    await first.stop();
    const second = await fakeDaemonIn(directory);
    expect((await second.request("GET", "/v1/health")).status).toBe(200);
    expect(await second.stop()).toBe(0);
    attack.end();
    const third = await fakeDaemonIn(directory);
    await waitFor("the rest to be removed", () => sessionsOf(third).length === 0);
  },
);

test("a removal that was broken off at any point is finished by the next daemon", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const sessions = join(first.state, "sessions");
  const removed = [[], ["home"], ["home", "session.json"], ["turns"], ["turns", "home"]];
  const ids: string[] = [];
  for (const _ of removed) ids.push((await first.run({ executor: "cli-b", input: "hello" })).session_id);
  // It may still be tidying their homes.
  await first.stop();
  for (const [index, gone] of removed.entries()) {
    const rest = join(sessions, `${ids[index]}~removed-${index}`);
    renameSync(join(sessions, ids[index] ?? ""), rest);
    for (const name of gone) rmSync(join(rest, name), { recursive: true });
  }
  const second = await fakeDaemonIn(directory);
  await waitFor("the rest to be removed", () => sessionsOf(second).length === 0);
});

test("a session with any name that is allowed is there after a restart", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const names = ["session.removed", "session:_-.removed", "........"];
  const first = await fakeDaemonIn(directory);
  for (const session_id of names) await first.request("POST", "/v1/sessions", { executor: "cli-b", session_id });
  await first.stop();
  const second = await fakeDaemonIn(directory);
  const { body } = await second.request("GET", "/v1/sessions");
  expect(body.sessions.map((kept: { session_id: string }) => kept.session_id).toSorted()).toEqual(names.toSorted());
});
