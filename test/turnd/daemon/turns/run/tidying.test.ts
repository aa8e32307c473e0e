import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startBehind } from "../../../../harness/behind.ts";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { REPOSITORY, temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const IS_ROOT = process.getuid?.() === 0;
const session = { executor: "cli-b", session_id: "session-1" };

/** Waits before the removal of a directory that holds `left` until it is let go or the test is over. */
const HOLD = `
package FileTree;
my $remove = \\&remove;
no warnings 'redefine';
*remove = sub {
    if (-e "$_[0]/left") {
        open(my $mark, '>', 'HELD_DIRECTORY/removal');
        select(undef, undef, undef, 0.02) while -d 'HELD_DIRECTORY' && !-e 'HELD_DIRECTORY/go';
    }
    goto &$remove;
};
1;
`;

/** A daemon whose removals of what a turn left wait for `release`. */
async function withHeldRemoval() {
  const directory = temporaryDirectory(onTestFinished);
  const held = join(directory, "held");
  mkdirSync(held);
  chmodSync(held, 0o777);
  const original = join(REPOSITORY, "sandbox/file-tree");
  const holding = join(directory, "file-tree");
  writeFileSync(holding, readFileSync(original, "utf8") + HOLD.replaceAll("HELD_DIRECTORY", held));
  const release = (): void => writeFileSync(join(held, "go"), "");
  const mount = `mount --bind ${holding} ${original}`;
  const turnd = await startBehind(directory, "--mount", mount, { TURND_MAX_TURNS: "1" });
  onTestFinished(release);
  const whenHeld = () => waitFor("the removal", () => existsSync(join(held, "removal")));
  return {
    turnd,
    release,
    whenHeld,
    /** Ends a turn that has left something; `turnd.run` would wait for the removal. */
    async leaveSomething(): Promise<void> {
      await turnd.admit({ ...session, input: "shell touch $TMPDIR/left" });
      await whenHeld();
    },
  };
}

test.runIf(IS_ROOT)("removing what a turn left delays no answer and no other session", async () => {
  const { turnd, whenHeld } = await withHeldRemoval();
  const first = await turnd.admit({ ...session, input: "shell touch $TMPDIR/left\nhello\nhang" });
  await waitFor("its file", () => existsSync(join(turnd.state, "sessions/session-1/home/tmp/left")));
  const cancelled = await turnd.request("POST", `/v1/turns/${first.turn_id}/cancel`);
  expect(cancelled.body.status).toBe("cancelled");
  await whenHeld();
  const { body: result } = await turnd.request("GET", `/v1/turns/${first.turn_id}/result`);
  expect(result.status).toBe("cancelled");
  expect((await turnd.request("GET", "/v1/sessions/session-1")).body).not.toHaveProperty("running_turn");
  expect((await turnd.run({ executor: "cli-b", session_id: "session-2", input: "touch /dev/null" })).status).toBe(
    "completed",
  );
});

test.runIf(IS_ROOT)(
  "a session's next process starts when its home is tidy, and its turn is let in at once",
  async () => {
    const { turnd, release, leaveSomething } = await withHeldRemoval();
    await leaveSomething();
    const mark = join(turnd.workspace, "ran");
    const next = await turnd.request("POST", "/v1/turns", {
      ...session,
      input: `touch ${mark}\nshell ls $TMPDIR > ${mark}.list`,
      queue_policy: "reject",
    });
    expect(next.status).toBe(202);
    await waitFor("the turn", async () => {
      return (await turnd.request("GET", `/v1/turns/${next.body.turn_id}`)).body.status === "running";
    });
    expect(existsSync(mark)).toBe(false);
    release();
    await waitFor("its run", () => existsSync(`${mark}.list`));
  },
);

test.runIf(IS_ROOT)("a turn that waits for a tidy home is cancelled at once", async () => {
  const { turnd, leaveSomething } = await withHeldRemoval();
  await leaveSomething();
  const { turn_id } = await turnd.admit({ ...session, input: `touch ${turnd.workspace}/ran` });
  await waitFor("the turn", async () => (await turnd.request("GET", `/v1/turns/${turn_id}`)).body.status === "running");
  expect((await turnd.request("POST", `/v1/turns/${turn_id}/cancel`)).body.status).toBe("cancelled");
  expect(existsSync(join(turnd.workspace, "ran"))).toBe(false);
});

test("a client that has seen the end of a turn finds its session free", async () => {
  const turnd = await fakeDaemon();
  const statuses: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    const { turn_id } = await turnd.admit({ ...session, input: "shell touch $TMPDIR/left" });
    for await (const frame of turnd.follow(turn_id)) if (frame.event === "turn.ended") break;
    const next = await turnd.request("POST", "/v1/turns", { ...session, input: "hello", queue_policy: "reject" });
    statuses.push(next.status);
    if (next.status === 202)
      for await (const frame of turnd.follow(next.body.turn_id)) if (frame.event === "end") break;
  }
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 202));
});
