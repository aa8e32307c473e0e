import { chmodSync, copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon, fakeDaemonIn } from "../harness/fake-daemon.ts";
import { processesNaming } from "../harness/processes.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { newTerminal, runLine, siteOf, startShell, view } from "../harness/terminal.ts";

const TERMINAL = { TURND_TERMINAL_PORT: "0" };
let marks = 0;

async function startZoo(turnd: Awaited<ReturnType<typeof fakeDaemon>>): Promise<string> {
  const { session_id: id } = await startShell(turnd);
  const program = join(turnd.workspace, "escapees");
  copyFileSync(join(REPOSITORY, "test/programs/escapees"), program);
  chmodSync(program, 0o755);
  const mark = String(6_000_000 + (process.pid % 10_000) * 100 + marks++);
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

test("SIGTERM ends every shell within its bound and tells the viewers", async () => {
  const turnd = await fakeDaemon({ ...TERMINAL, TURND_CANCEL_GRACE_MS: "200" });
  const viewer = await view(siteOf(turnd), await newTerminal(turnd));
  const mark = await startZoo(turnd);
  expect(await turnd.stop()).toBe(0);
  expect(processesNaming(mark)).toEqual([]);
  expect(processesNaming(`${turnd.state}/shells`)).toEqual([]);
  expect((await viewer.hears("ended")).exit.ended_by).toBe("shutdown");
  expect(turnd.log.filter((line) => line.includes('"level":50'))).toEqual([]);
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
    new RegExp(`ended with 1[^]*TURND_TERMINAL_PORT is ${port}: listen EADDRINUSE`),
  );
});

test("without the port the shells are there, and the URL says that nobody serves it", async () => {
  const turnd = await fakeDaemon();
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url");
  expect(body.message).toContain("TURND_TERMINAL_PORT is off");
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "echo he''re", /\nhere\n/);
});
