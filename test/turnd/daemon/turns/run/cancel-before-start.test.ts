import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { REPOSITORY, temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** What turnd promises is a tenth of it; what it waited for before took at least four times as long. */
const LIMIT_MS = 1_000;

/** A daemon on which a turn waits for something before its process exists, and how to see that it does. */
interface Waiting {
  readonly turnd: TestDaemon;
  readonly isWaiting: () => boolean;
  /** The processes that turnd waits for. */
  readonly helpers: () => number[];
}

/** A provider that takes connections and never answers. */
async function silentProvider(): Promise<Waiting> {
  let asked = 0;
  const server = createServer(() => (asked += 1)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const turnd = await fakeDaemonIn(temporaryDirectory(onTestFinished), {
    CLI_B_BASE_URL: `http://127.0.0.1:${address.port}/v1`,
  });
  return { turnd, isWaiting: () => asked > 0, helpers: () => [] };
}

/** A CLI that hangs when it is called in one way, with a child of its own. */
async function hangingCli(when: string, env: Record<string, string> = {}): Promise<Waiting> {
  const directory = temporaryDirectory(onTestFinished);
  const bin = join(directory, "bin");
  mkdirSync(bin);
  const mark = `hanging-${process.pid}-${directory.slice(-6)}`;
  const program = join(bin, "fake-cli-b");
  const hang = `sh -c 'sleep 3600; : ${mark}'; exit 1`;
  const script = `#!/bin/sh\n[ "$1" = ${when} ] && { ${hang}; }\n[ "$1" = --version ] && echo 0.139.0\nexit 0\n`;
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  const helpers = (): number[] => processesNaming(mark);
  onTestFinished(() => helpers().forEach((pid) => process.kill(pid, "SIGKILL")));
  const turnd = await fakeDaemonIn(directory, env);
  return { turnd, isWaiting: () => helpers().length > 0, helpers };
}

const CASES: readonly (readonly [string, () => Promise<Waiting>])[] = [
  ["its provider is asked", silentProvider],
  ["the CLI is asked for its version", () => hangingCli("--version")],
  ["the CLI's sandbox is tried", () => hangingCli("sandbox", { CLI_B_SANDBOX_MODE: "workspace-write" })],
];

async function admitAndWait({ turnd, isWaiting }: Waiting, body: Record<string, unknown> = {}) {
  const turn = await turnd.admit({ executor: "cli-b", input: "hello", ...body });
  await waitFor("the wait", isWaiting);
  return turn;
}

function startedIn({ turnd }: Waiting): string[] {
  return readdirSync(turnd.state, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith("/started"));
}

test.each(CASES)("a turn is cancelled at once while %s", async (_, make) => {
  const waiting = await make();
  const { turnd, helpers } = waiting;
  const { turn_id } = await admitAndWait(waiting);
  const startedAt = performance.now();
  const receipt = (await turnd.request("POST", `/v1/turns/${turn_id}/cancel`)).body;
  expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
  expect(receipt).toMatchObject({ status: "cancelled", already_ended: false, ended: [] });
  expect((await turnd.events(turn_id)).map(({ type }) => type)).toEqual(["turn.ended"]);
  await waitFor("the end of the helpers", () => helpers().length === 0);
  expect(startedIn(waiting)).toEqual([]);
});

test.each(CASES)("a session is deleted at once while %s", async (_, make) => {
  const waiting = await make();
  const { turnd, helpers } = waiting;
  await admitAndWait(waiting, { session_id: "session-1" });
  const startedAt = performance.now();
  expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
  await waitFor("the end of the helpers", () => helpers().length === 0);
});

test.each(CASES)("turnd stops at once while %s, and leaves the turn to the next start", async (_, make) => {
  const waiting = await make();
  const { turnd, helpers } = waiting;
  const { session_id, turn_id } = await admitAndWait(waiting);
  // Its connection may end with turnd.
  const look = turnd.request("GET", "/v1/executors").catch(() => undefined);
  const startedAt = performance.now();
  expect(await turnd.stop()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(4 * LIMIT_MS);
  await look;
  expect(helpers()).toEqual([]);
  const files = join(turnd.state, "sessions", session_id, "turns", turn_id);
  expect(["turn.json", "result.json", "started"].map((name) => existsSync(join(files, name)))).toEqual([
    true,
    false,
    false,
  ]);
});

test("a turn that is cancelled while turnd stops is not run by the next start", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const bin = join(directory, "bin");
  mkdirSync(bin);
  copyFileSync(join(REPOSITORY, "test/programs/fake-cli-b"), join(bin, "prompt-cli-b"));
  const mark = `hanging-${process.pid}-${directory.slice(-6)}`;
  const program = `#!/bin/sh\n[ "$1" = sandbox ] && { sh -c 'sleep 3600; : ${mark}'; }\nexec ${bin}/prompt-cli-b "$@"\n`;
  writeFileSync(join(bin, "fake-cli-b"), program);
  for (const name of ["fake-cli-b", "prompt-cli-b"]) chmodSync(join(bin, name), 0o755);
  const helpers = (): number[] => processesNaming(mark);
  onTestFinished(() => helpers().forEach((pid) => process.kill(pid, "SIGKILL")));
  // Long enough for a request beside a turn that takes as long as it may to stop.
  const first = await fakeDaemonIn(directory, { TURND_CANCEL_GRACE_MS: "4000" });
  const running = await first.admit({
    executor: "cli-b",
    input: "hello\nshell trap '' INT TERM; sleep 600; sleep 600",
  });
  await waitFor("its first words", async () =>
    (await first.events(running.turn_id)).some(({ type }) => type === "message"),
  );
  const { session_id, turn_id } = await first.admit({ executor: "cli-b", input: "hello", mode: "plan" });
  await waitFor("the wait", () => helpers().length > 0);
  first.kill("SIGTERM");
  await waitFor("the start to be given up", () => helpers().length === 0);
  const receipt = await first.request("POST", `/v1/turns/${turn_id}/cancel`);
  expect([receipt.status, receipt.body.already_ended]).toEqual([200, false]);
  expect(await first.exited).toBe(0);
  writeFileSync(join(bin, "fake-cli-b"), `#!/bin/sh\nexec ${bin}/prompt-cli-b "$@"\n`);
  const second = await fakeDaemonIn(directory);
  for await (const { event } of second.follow(turn_id)) if (event === "end") break;
  const { body } = await second.request("GET", `/v1/turns/${turn_id}/result`);
  expect(body).toMatchObject({ status: "cancelled", cancelled_by: "request" });
  expect(existsSync(join(second.state, "sessions", session_id, "turns", turn_id, "started"))).toBe(false);
});

test("a cancelled turn takes nothing from another that waits for the same", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const [bin, release] = [join(directory, "bin"), join(directory, "release")];
  mkdirSync(bin);
  copyFileSync(join(REPOSITORY, "test/programs/fake-cli-b"), join(bin, "prompt-cli-b"));
  const wait = `[ "$1" = --version ] && until [ -e ${release} ]; do sleep 0.05; done`;
  writeFileSync(join(bin, "fake-cli-b"), `#!/bin/sh\n${wait}\nexec ${bin}/prompt-cli-b "$@"\n`);
  for (const name of ["fake-cli-b", "prompt-cli-b"]) chmodSync(join(bin, name), 0o755);
  const turnd = await fakeDaemonIn(directory);
  const one = await turnd.admit({ executor: "cli-b", input: "hello" });
  const other = turnd.run({ executor: "cli-b", input: "hello" });
  await waitFor("both", async () => (await turnd.request("GET", "/v1/turns?status=running")).body.turns.length === 2);
  expect((await turnd.request("POST", `/v1/turns/${one.turn_id}/cancel`)).body.status).toBe("cancelled");
  writeFileSync(release, "");
  expect(await other).toMatchObject({ status: "completed", output: "hello" });
});
