import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { startKept } from "../../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { toFailureOfOurs } from "../../../../../src/turnd/daemon/turns/outcome/run-outcome.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Only root can mount; the figures of a full and a read-only disk are the kernel's own then. */
const IS_ROOT = process.getuid?.() === 0;

async function mountSmallDisk(path: string, sizeMb: number): Promise<void> {
  mkdirSync(path, { mode: 0o711 });
  await execa("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m,mode=711`, "turnd-test", path]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", path])));
}

/** A daemon whose state lies on a small disk of its own. */
async function onSmallDisk(sizeMb: number) {
  const directory = temporaryDirectory(onTestFinished);
  const state = join(directory, "state");
  await mountSmallDisk(state, sizeMb);
  return { state, turnd: await fakeDaemonIn(directory, { TURND_MIN_FREE_BYTES: "0" }) };
}

test.runIf(IS_ROOT)(
  "a turn that fills the disk ends as storage_error; what was written is kept and served",
  async () => {
    const { turnd, state } = await onSmallDisk(8);
    const before = await turnd.run({ executor: "cli-b", input: "before" });
    const go = join(turnd.workspace, "go");
    const hold = `shell until [ -e ${go} ]; do sleep 0.02; done`;
    const { turn_id } = await turnd.admit({ executor: "cli-b", input: `hello\n${hold}\nbytes 100000000\nhang` });
    await waitFor("a first event", async () => (await turnd.events(turn_id)).some(({ type }) => type === "message"));
    writeFileSync(go, "");
    await waitFor("the end", async () => (await turnd.events(turn_id)).at(-1)?.type === "turn.ended");
    const result = (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
    expect(result.failure?.code).toBe("storage_error");
    expect(result.counts.records).toBeGreaterThan(2);
    const events = await turnd.events(result.turn_id);
    expect(events.some((event) => event.type === "message" && event.data.text === "hello")).toBe(true);
    expect(events.at(-1)?.type).toBe("turn.ended");
    expect((await turnd.request("GET", `/v1/turns/${before.turn_id}/result`)).body).toEqual(before);
    expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
    const stdout = readFileSync(join(state, "sessions", result.session_id, "turns", result.turn_id, "stdout.jsonl"));
    expect(stdout.length).toBeGreaterThan(1_000_000);
  },
);

test.runIf(IS_ROOT)("a state directory that becomes read-only refuses turns, and what is there is served", async () => {
  const { turnd, state } = await onSmallDisk(64);
  const before = await turnd.run({ executor: "cli-b", input: "before" });
  const running = await turnd.admit({ executor: "cli-b", input: "hello\nhang" });
  await waitFor("the turn", async () =>
    (await turnd.events(running.turn_id)).some((event) => event.type === "message"),
  );
  // Over itself, since what is open for writing keeps a file system from being made read-only as a whole.
  await execa("mount", ["--bind", state, state]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", state])));
  await execa("mount", ["-o", "remount,bind,ro", state]);
  const refused = await turnd.request("POST", "/v1/turns", { executor: "cli-b", input: "after" });
  expect([refused.status, refused.body.detail.code]).toEqual([507, "storage_full"]);
  expect((await turnd.request("GET", `/v1/turns/${before.turn_id}/result`)).body).toEqual(before);
  expect((await turnd.request("POST", `/v1/turns/${running.turn_id}/cancel`)).body.status).toBe("cancelled");
});

/** Starts a command in a directory, and returns what that failure means for a turn. */
async function failureOfStart(directory: string, keeperPath: string) {
  writeFileSync(join(directory, "prompt.txt"), "");
  const kept = { keeperPath, directory, command: ["/bin/true"], env: {}, cwd: "/", runAs: CLI_USER };
  return startKept(kept).then(() => undefined, toFailureOfOurs);
}

test.runIf(IS_ROOT)("a disk that is full when the keeper comes is reported as such", async () => {
  const disk = join(temporaryDirectory(onTestFinished), "disk");
  await mountSmallDisk(disk, 1);
  expect(() => writeFileSync(join(disk, "filler"), Buffer.alloc(2_000_000))).toThrow("ENOSPC");
  const failure = await failureOfStart(disk, join(REPOSITORY, "sandbox/keeper"));
  expect(failure).toMatchObject({
    code: "storage_error",
    message: "the keeper's files could not be written: exit code 5",
  });
});

test("a keeper that cannot start reports why, without its command line", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const keeper = join(directory, "keeper");
  writeFileSync(keeper, 'print STDERR "first\\nkeeper: no fork today\\n"; exit 4;\n');
  const failure = await failureOfStart(directory, keeper);
  const message = "the keeper could not start the command: keeper: no fork today";
  expect(failure).toMatchObject({ code: "executor_unavailable", message });
});
