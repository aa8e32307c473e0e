import { chmodSync, copyFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../harness/fake-daemon.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { newTerminal, runLine, siteOf, startShell, view } from "../../../harness/terminal.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const TERMINAL = { TURND_TERMINAL_PORT: "0" };
let marks = 0;

/** A number that names processes of this test alone. */
const newMark = (): string => String(6_000_000 + (process.pid % 10_000) * 100 + marks++);

async function startZoo(turnd: TestDaemon): Promise<string> {
  const { session_id: id } = await startShell(turnd);
  const program = join(turnd.workspace, "escapees");
  copyFileSync(join(REPOSITORY, "test/programs/escapees"), program);
  chmodSync(program, 0o755);
  const mark = newMark();
  await runLine(turnd, id, `trap '' HUP TERM; ./escapees ${mark}`, /\nstarted/);
  expect(processesNaming(mark).length).toBeGreaterThanOrEqual(7);
  return mark;
}

test("no shell is left after the start that follows a kill -9", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, TERMINAL);
  const mark = await startZoo(first);
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory, TERMINAL);
  expect(processesNaming(mark)).toEqual([]);
  expect(processesNaming(`${directory}/state/shells`)).toEqual([]);
  expect(readdirSync(join(second.state, "shells"))).toEqual([]);
  expect((await second.request("GET", "/v1/shell/sessions")).body.sessions).toEqual([]);
});

test("SIGTERM ends every shell within its bound and notifies the viewers", async () => {
  const turnd = await fakeDaemon({ ...TERMINAL, TURND_CANCEL_GRACE_MS: "200" });
  const viewer = await view(siteOf(turnd), await newTerminal(turnd));
  const mark = await startZoo(turnd);
  expect(await turnd.stop()).toBe(0);
  expect(processesNaming(mark)).toEqual([]);
  expect(processesNaming(`${turnd.state}/shells`)).toEqual([]);
  expect((await viewer.hears("ended")).exit.ended_by).toBe("shutdown");
  expect(turnd.log.filter((line) => line.includes('"level":50'))).toEqual([]);
});

/** A minute, of which a stop must not wait a third. */
const LONG_GRACE = { TURND_CANCEL_GRACE_MS: "60000", TURND_SHUTDOWN_MS: "6000" };
const FAR_BELOW_MS = 20_000;

async function expectQuickStop(turnd: TestDaemon, mark: string): Promise<void> {
  expect(processesNaming(mark).length).toBeGreaterThan(0);
  const startedAt = performance.now();
  expect(await turnd.stop()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(FAR_BELOW_MS);
  expect(processesNaming(mark)).toEqual([]);
}

test("SIGTERM ends a shell within its bound, though a program in it has a longer grace and is watched", async () => {
  const turnd = await fakeDaemon({ ...TERMINAL, ...LONG_GRACE });
  const id = await newTerminal(turnd);
  const viewer = await view(siteOf(turnd), id);
  // Takes no goodbye.
  const deaf = await view(siteOf(turnd), id);
  deaf.socket.pause();
  const mark = newMark();
  viewer.type(`trap '' HUP TERM; echo re''ady; sleep ${mark}\r`);
  await viewer.shows(/\nready\n/);
  await waitFor("the program", () => processesNaming(mark).length > 0);
  await expectQuickStop(turnd, mark);
  expect((await viewer.hears("ended")).exit.ended_by).toBe("shutdown");
  deaf.socket.terminate();
});

test("SIGTERM ends a shell within its bound, though it is being closed with a longer grace", async () => {
  const turnd = await fakeDaemon({ ...TERMINAL, ...LONG_GRACE });
  const { session_id: id } = await startShell(turnd);
  const program = `$SIG{HUP} = sub { open my $file, ">", "hung-up" }; $| = 1; print "re", "ady\\n"; sleep 1 while 1`;
  const mark = newMark();
  await runLine(turnd, id, `exec perl -e '${program}' ${mark}`, /\nready\n/);
  const closing = turnd.request("DELETE", `/v1/shell/sessions/${id}`).catch(() => undefined);
  await waitFor("the hang-up", () => existsSync(join(turnd.workspace, "hung-up")));
  await expectQuickStop(turnd, mark);
  await closing;
});

test("a port that is taken stops turnd with the variable's name", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await expect(fakeDaemon({ TURND_TERMINAL_PORT: String(port) })).rejects.toThrow(
    new RegExp(`exit code 1[^]*TURND_TERMINAL_PORT is ${port}: another program listens there \\(EADDRINUSE\\)`),
  );
});

test("without the port the shells are there, and no URL of a page that is not served is given", async () => {
  const turnd = await fakeDaemon();
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url");
  expect(body).toEqual({ success: false, message: expect.stringContaining("TURND_TERMINAL_PORT is off"), data: null });
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "echo he''re", /\nhere\n/);
});
