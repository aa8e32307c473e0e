import {
  chmodSync,
  chownSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, inject, test } from "vitest";
import {
  CLI_B,
  CLIS_B,
  LIGHT_CLI_A,
  NEWEST_CLI_A,
  PINNED_CLI_A,
  REAL_CLIS,
  shareStage,
  type Stage,
} from "../harness/real-daemon.ts";
import { expectSameAgain } from "../harness/same-again.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

/** Directory, below a session's home, of what a CLI needs to resume. */
const NATIVE_STATE = { "cli-a": "data/opencode", "cli-b": "codex/sessions" } as const;

const GARBAGE = "garbage, ".repeat(1_000);

/** A session with one turn that gave the model a fact. */
async function startSession({ turnd }: Stage, executor: "cli-a" | "cli-b", word: string) {
  const { session_id, native_session_id } = await turnd.run({ executor, input: `My word is ${word}. @@text:Noted.@@` });
  return { session_id, native: native_session_id, home: join(turnd.state, "sessions", session_id, "home") };
}

describe.each(REAL_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("lost native state is the first event, and a fresh session is given the history; so where the home is gone", async () => {
    const { turnd, model } = stage();
    const { session_id, native, home } = await startSession(stage(), executor, "marmalade");
    const state = join(home, NATIVE_STATE[executor]);
    // What the turn has left is being removed at this moment.
    for (const name of readdirSync(state)) rmSync(join(state, name), { recursive: true, force: true });

    const before = model.requests.length;
    const failed = await turnd.run({ session_id, input: "@@tool-ok@@", resume_policy: "fail" });
    expect(failed).toMatchObject({ status: "failed", degraded: true, failure: { code: "resume_degraded" } });
    const types = (await turnd.events(failed.turn_id)).map(({ type }) => type);
    expect(types).toEqual(["turn.started", "session.degraded", "turn.ended"]);
    expect(model.requests.length).toBe(before);

    const fresh = await turnd.run({ session_id, input: "@@recall@@" });
    expect(fresh).toMatchObject({ status: "completed", resumed: false, degraded: true });
    expect(fresh.native_session_id).not.toBe(native);
    expect(fresh.output).toContain("My word is marmalade.");
    const events = await turnd.events(fresh.turn_id);
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual(["turn.started", "session.degraded", "session.bound"]);
    expect(events[1]?.data).toMatchObject({ code: "resume_degraded", requested: native });
    // Its export gives the events again, the loss at the same place.
    await expectSameAgain(turnd, fresh.turn_id);

    // The home of the fresh session: it is turnd that looks for it, whatever the CLI.
    if (cli.version !== CLI_B.version) return;
    renameSync(home, join(stage().directory, `lost-${session_id}`));
    await expectGone(session_id);
  });

  /** A session whose home is gone is lost under either policy. */
  async function expectGone(session_id: string): Promise<void> {
    const { turnd, model } = stage();
    const before = model.requests.length;
    const failed = await turnd.run({ session_id, input: "@@tool-ok@@", resume_policy: "fail" });
    expect(failed).toMatchObject({ status: "failed", failure: { code: "resume_degraded" } });
    expect(model.requests.length).toBe(before);

    const fresh = await turnd.run({ session_id, input: "@@recall@@" });
    expect(fresh).toMatchObject({ status: "completed", resumed: false, degraded: true });
    expect(fresh.output).toContain("My word is marmalade.");
  }
});

describe.each(CLIS_B)("$executor $version", (cli) => {
  const stage = shareStage(cli);

  test("a thread that cannot be opened for a while fails its turns and goes on afterwards", async () => {
    const { turnd } = stage();
    const { session_id, native, home } = await startSession(stage(), "cli-b", "gooseberry");
    const [name = ""] = readdirSync(join(home, "codex/sessions"), { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(".jsonl"),
    );
    const rollout = join(home, "codex/sessions", name);
    // Another user's, as a restore from a backup leaves it.
    const owner = statSync(rollout);
    chownSync(rollout, 0, 0);
    chmodSync(rollout, 0o600);

    const failed = await turnd.run({ session_id, input: "@@recall@@" });
    expect(failed).toMatchObject({ status: "failed", degraded: false, failure: { code: "storage_error" } });
    chownSync(rollout, owner.uid, owner.gid);

    const next = await turnd.run({ session_id, input: "@@recall@@" });
    expect(next).toMatchObject({ status: "completed", resumed: true, degraded: false, native_session_id: native });
    expect(next.output).toContain("My word is gooseberry.");
  });
});

// What the guard says of such stores is the same in all versions: test/e2e/store-guard.test.ts.
describe("the store of CLI A", () => {
  const stage = shareStage(PINNED_CLI_A);

  test("one that cannot be opened for a while fails its turns; a corrupt one is moved aside, not deleted, and the turn completes degraded", async () => {
    const { turnd } = stage();
    const { session_id, native, home } = await startSession(stage(), "cli-a", "gooseberry");
    const database = join(home, "data/opencode/opencode.db");
    const owner = statSync(database);
    chownSync(database, 0, 0);
    chmodSync(database, 0o600);

    const failed = await turnd.run({ session_id, input: "@@recall@@" });
    expect(failed).toMatchObject({ status: "failed", degraded: false, failure: { code: "storage_error" } });
    chownSync(database, owner.uid, owner.gid);

    const next = await turnd.run({ session_id, input: "@@recall@@" });
    expect(next).toMatchObject({ status: "completed", resumed: true, degraded: false, native_session_id: native });
    expect(next.output).toContain("My word is gooseberry.");

    // The log beside the database holds all of a young one, and would restore it.
    for (const path of [database, `${database}-wal`]) writeFileSync(path, GARBAGE);

    const refused = await turnd.run({ session_id, input: "@@text@@", resume_policy: "fail" });
    expect(refused).toMatchObject({ status: "failed", failure: { code: "resume_degraded" } });
    expect(readFileSync(database, "utf8")).toMatch(/^garbage/);

    const result = await turnd.run({ session_id, input: "@@recall@@" });
    expect(result).toMatchObject({ status: "completed", degraded: true });
    expect(result.output).toContain("My word is gooseberry.");
    expect(readFileSync(`${database}.aside-1`, "utf8")).toBe(GARBAGE);
    const warnings = (await turnd.events(result.turn_id)).filter((event) => event.type === "warning");
    expect(warnings[0]?.data).toMatchObject({ code: "state_set_aside" });
    const { timeline } = await expectSameAgain(turnd, result.turn_id);
    expect(timeline).toContainEqual(expect.objectContaining({ type: "warning", code: "state_set_aside" }));
  });
});

/** A CLI A that can be replaced by another version, as by an upgrade. */
function makeReplaceable(version: string) {
  const link = join(temporaryDirectory(afterAll), "cli");
  const install = (next: string): void => {
    rmSync(link, { force: true });
    symlinkSync(inject("clis").binaries[next] ?? `no ${next}`, link);
  };
  install(version);
  return { link, install };
}

describe("a home of 1.14.34", () => {
  const { link, install } = makeReplaceable("1.14.34");
  const stage = shareStage(LIGHT_CLI_A, { env: { CLI_A_BIN: link } });

  test("goes on with all of its history in 1.18.33", async () => {
    const { session_id, native } = await startSession(stage(), "cli-a", "medlar");
    install("1.18.33");
    const next = await stage().turnd.run({ session_id, input: "@@recall@@" });
    expect(next).toMatchObject({ status: "completed", resumed: true, degraded: false, native_session_id: native });
    expect(next.output).toContain("My word is medlar.");
    expect((await stage().turnd.events(next.turn_id))[0]?.data).toMatchObject({ cli: { version: "1.18.33" } });
  });
});

describe("a home of 1.18.33", () => {
  const { link, install } = makeReplaceable("1.18.33");
  const stage = shareStage(NEWEST_CLI_A, { env: { CLI_A_BIN: link } });

  test("which 1.14.34 cannot read is a lost session, kept beside a fresh one", async () => {
    const { session_id, home } = await startSession(stage(), "cli-a", "damson");
    install("1.14.34");
    const fresh = await stage().turnd.run({ session_id, input: "@@recall@@" });
    expect(fresh).toMatchObject({ status: "completed", resumed: false, degraded: true });
    expect(fresh.output).toContain("My word is damson.");
    expect(readdirSync(join(home, "data/opencode"))).toContain("opencode.db.aside-1");
  });
});
