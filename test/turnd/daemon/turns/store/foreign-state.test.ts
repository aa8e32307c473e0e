import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { CLI_USER, temporaryDirectory } from "../../../../harness/temporary.ts";

/** What was done to a session's directory before turnd was started on its state, such as while the CLIs ran as turnd's user. */
interface Stage {
  readonly session: string;
  readonly turns: string;
  /** Root's, with a directory in it. */
  readonly target: string;
}

/** Starts a daemon on a state that was changed since its session ended. */
async function changedState(change: (stage: Stage) => void) {
  const stage = await endedSession();
  change(stage);
  const { directory, ...rest } = stage;
  return { ...rest, turnd: await fakeDaemonIn(directory) };
}

async function endedSession() {
  const directory = temporaryDirectory(onTestFinished);
  const target = join(directory, "target");
  mkdirSync(join(target, "deep"), { recursive: true });
  const first = await fakeDaemonIn(directory);
  const { turn_id } = await first.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
  await first.stop();
  const session = join(first.state, "sessions/session-1");
  return { directory, session, turns: join(session, "turns"), target, turn_id };
}

const IS_ROOT = process.getuid?.() === 0;

test("directories of a session that others can write are closed, and it goes on", async () => {
  const { turnd, session, turn_id } = await changedState((stage) => {
    const { turns } = stage;
    for (const path of [stage.session, turns, join(turns, readdirSync(turns)[0] ?? "")]) chmodSync(path, 0o777);
  });
  for (const path of [session, join(session, "turns"), join(session, "turns", turn_id)]) {
    expect([path, statSync(path).mode & 0o022]).toEqual([path, 0]);
  }
  expect(await turnd.run({ session_id: "session-1", input: "again" })).toMatchObject({ resumed: true });
});

test.runIf(IS_ROOT).each([
  [
    "a link where its turns were",
    ({ session, turns, target }: Stage) => {
      renameSync(turns, join(session, "old"));
      symlinkSync(target, turns);
    },
  ],
  ["turns of the CLIs' user", ({ turns }: Stage) => chownSync(turns, CLI_USER.uid, CLI_USER.gid)],
  ["a directory of the CLIs' user", ({ session }: Stage) => chownSync(session, CLI_USER.uid, CLI_USER.gid)],
])(
  "a session with %s is reported as unreadable, does not redirect root, and can be deleted",
  async (_title, change) => {
    const { turnd, target } = await changedState(change);
    const refused = await turnd.request("POST", "/v1/turns", { session_id: "session-1", input: "hello" });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
    expect([readdirSync(target), readdirSync(join(target, "deep"))]).toEqual([["deep"], []]);
  },
);

test.runIf(IS_ROOT)("a link in the place of a turn leads root nowhere", async () => {
  const { turnd, target } = await changedState((stage) => {
    symlinkSync(stage.target, join(stage.turns, "01a201f8-415a-75f2-a80a-548a5c45cc7e"));
  });
  expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect(existsSync(join(target, "deep"))).toBe(true);
});
