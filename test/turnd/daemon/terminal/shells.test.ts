import { chmodSync, copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TestDaemon } from "../../../harness/daemon.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../harness/shared-daemon.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { CLI_USER, REPOSITORY, userDirectory } from "../../../harness/temporary.ts";
import { plain, runLine, startShell } from "../../../harness/terminal.ts";
import { waitFor } from "../../../harness/wait-for.ts";

let marks = 0;

/** Lets the seven escapees of test/programs loose in a shell. */
async function startZoo(turnd: TestDaemon, id: string): Promise<string> {
  const program = join(turnd.workspace, "escapees");
  copyFileSync(join(REPOSITORY, "test/programs/escapees"), program);
  chmodSync(program, 0o755);
  const mark = String(4_000_000 + (process.pid % 10_000) * 100 + marks++);
  await runLine(turnd, id, `./escapees ${mark}`, /\nstarted/);
  expect(processesNaming(mark).length).toBeGreaterThanOrEqual(7);
  return mark;
}

test("a shell runs as the CLIs' user on a terminal of its own, without groups, capabilities or a way back", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id, cwd } = await startShell(turnd, { cols: 101, rows: 31 });
  expect(cwd).toBe(turnd.workspace);
  const script =
    "stty size; tty; pwd; id -u; id -G; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; ps -o sid=,tty= -p $$ | sed s/^/s:/; echo pid:$$; echo en''d";
  const [text] = await runLine(turnd, id, script, /[^]*\nend\n/);
  expect(text).toContain("\n31 101\n");
  expect(text).toMatch(/\n\/dev\/pts\/\d+\n/);
  expect(text).toContain(`\n${turnd.workspace}\n`);
  expect(text).toContain(`\n${CLI_USER.uid}\n`);
  expect(text).toMatch(/NoNewPrivs:\s*1/);
  const [, session] = /s: *(\d+) pts/.exec(text) ?? [];
  expect(/pid:(\d+)/.exec(text)?.[1]).toBe(session);
  if (!CLI_USER.isSelf) {
    expect(text).toContain("\n1000\n1000\n");
    expect(text).toMatch(/CapEff:\s*0{16}/);
    expect(text).toMatch(/CapBnd:\s*0{16}/);
  }
});

test("nothing of turnd's keys is in a shell's environment, nor in that of what carries it", async () => {
  const secret = "FAKE-SENTINEL-SECRET-0123456789";
  const headers = { authorization: `Bearer ${secret}` };
  const turnd = await fakeDaemon({
    TURND_TOKEN: secret,
    CLI_B_API_KEY: secret,
    MY_SECRET: secret,
    TURND_PASS_ENV: "MY_SECRET",
    LC_TIME: "C",
  });
  const { session_id: id } = (await turnd.request("POST", "/v1/shell/sessions", {}, headers)).body;
  const path = `/v1/shell/sessions/${id}`;
  await turnd.request("POST", `${path}/input`, { text: "env; echo pid:$$:en''d\r" }, headers);
  const [text = "", pid = ""] = await waitFor("the environment", async () =>
    /[^]*pid:(\d+):end\n/.exec(plain((await turnd.request("GET", `${path}/output`, undefined, headers)).body.data)),
  );
  expect(text).not.toContain(secret);
  const names = readFileSync(`/proc/${pid}/environ`, "utf8")
    .split("\0")
    .filter(Boolean)
    .map((entry) => entry.split("=")[0]);
  expect(names.toSorted((left = "", right = "") => left.localeCompare(right, "en"))).toEqual(
    "COLORTERM HOME LANG LC_TIME LOGNAME PATH SHELL TERM TURND_SHELL_ID USER".split(" "),
  );
  const holders = processesNaming(secret, "anywhere").filter((holder) => holder !== process.pid);
  expect(holders).toEqual([turnd.pid]);
});

test("closing a shell answers when its whole tree is gone, however it tried to escape", async () => {
  const turnd = await fakeDaemon({ TURND_CANCEL_GRACE_MS: "200" });
  const one = await startShell(turnd);
  const other = await startShell(turnd);
  const mark = await startZoo(turnd, one.session_id);
  const others = await startZoo(turnd, other.session_id);
  expect((await turnd.request("DELETE", `/v1/shell/sessions/${one.session_id}`)).status).toBe(204);
  expect(processesNaming(mark)).toEqual([]);
  expect(processesNaming(others).length).toBeGreaterThanOrEqual(7);
  expect((await turnd.request("GET", `/v1/shell/sessions/${one.session_id}`)).body.detail.code).toBe("shell_not_found");
  expect(readdirSync(join(turnd.state, "shells"))).toHaveLength(1);
});

test("a shell that ends by itself takes what it left behind with it", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  const mark = await startZoo(turnd, id);
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, { text: "exit 7\r" });
  const ended = await waitFor("the end", async () => {
    const { body } = await turnd.request("GET", `/v1/shell/sessions/${id}`);
    return body.status === "ended" && body;
  });
  expect(ended.exit).toEqual({ code: 7, ended_by: "exit" });
  expect(processesNaming(mark)).toEqual([]);
  expect(readdirSync(join(turnd.state, "shells"))).toEqual([]);
  for (const [action, body] of [
    ["input", { text: "x" }],
    ["resize", { cols: 80, rows: 24 }],
  ] as const) {
    const answer = await turnd.request("POST", `/v1/shell/sessions/${id}/${action}`, body);
    expect([answer.status, answer.body.detail.code]).toEqual([409, "shell_ended"]);
  }
});

test("Ctrl-C interrupts what runs in the foreground", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  // What prints is in the foreground itself: a shell that has not started its next command yet hands the signal to none.
  await runLine(turnd, id, "sh -c \"echo go''ing; exec sleep 1000\"", /\ngoing/);
  await runLine(turnd, id, "\u0003echo on", /\non\n/);
});

test("a resize is seen by what runs", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  const resized = await turnd.request("POST", `/v1/shell/sessions/${id}/resize`, { cols: 132, rows: 50 });
  expect(resized.body).toMatchObject({ cols: 132, rows: 50 });
  await runLine(turnd, id, "stty size", /\n50 132\n/);
});

test("no more shells run than may, and an ended one makes room", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_SHELLS: "1" });
  const { session_id: id } = await startShell(turnd);
  const refused = await turnd.request("POST", "/v1/shell/sessions", {});
  expect([refused.status, refused.body.detail.code]).toEqual([429, "too_many_shells"]);
  expect(refused.headers.get("retry-after")).toBe("5");
  await turnd.request("DELETE", `/v1/shell/sessions/${id}`);
  await startShell(turnd);
  expect((await turnd.request("GET", "/v1/shell/sessions")).body.sessions).toHaveLength(1);
});

test("an idle shell ends, and one that prints does not", async () => {
  const turnd = await fakeDaemon({ TURND_SHELL_IDLE_MS: "4000" });
  const busy = await startShell(turnd);
  await runLine(turnd, busy.session_id, "while sleep 0.1; do echo tick; done", /\ntick/);
  const idle = await startShell(turnd);
  const list = async () => (await turnd.request("GET", "/v1/shell/sessions")).body.sessions;
  const find = async (id: string) => (await list()).find((one: { session_id: string }) => one.session_id === id);
  const ended = await waitFor("the idle end", async () => {
    const found = await find(idle.session_id);
    return found.status === "ended" && found;
  });
  expect(ended.exit.ended_by).toBe("idle");
  expect((await find(busy.session_id)).status).toBe("running");
});

test("a turn session's terminal opens in its workspace, with the home of the CLIs' user", async () => {
  const turnd = await sharedDaemon();
  const workspace = userDirectory(join(turnd.workspace, "project"));
  const body = { executor: "cli-b", session_id: "session:one", workspace };
  expect((await turnd.request("POST", "/v1/sessions", body)).status).toBe(201);
  const shell = await startShell(turnd, { session_id: "session:one" });
  expect(shell).toMatchObject({ session_id: "session:one", cwd: workspace });
  const [, home] = await runLine(turnd, "session:one", "pwd; echo home:$HOME:", /\nhome:(.*):\n/);
  expect(home).toBe(join(turnd.workspace, "../home"));
  const again = await turnd.request("POST", "/v1/shell/sessions", { session_id: "session:one" });
  expect([again.status, again.body.session_id]).toEqual([200, "session:one"]);
});

test("a place that is none, or not allowed, is refused", async () => {
  const turnd = await sharedDaemon();
  for (const cwd of ["/nonexistent", "/root"]) {
    const answer = await turnd.request("POST", "/v1/shell/sessions", { cwd });
    expect([answer.status, answer.body.detail.code]).toEqual([422, "workspace_unusable"]);
  }
  const unknown = await turnd.request("POST", "/v1/shell/sessions", { session_id: "no-such-session" });
  expect([unknown.status, unknown.body.detail.code]).toEqual([404, "session_not_found"]);
});

test("keys for a program that does not read wait, are refused beyond a bound, and stop nothing else", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "stty raw -echo; echo de''af; sleep 1000", /deaf/);
  const text = "x".repeat(262_144);
  const path = `/v1/shell/sessions/${id}/input`;
  const refused = await waitFor("a refusal", async () => {
    const answer = await turnd.request("POST", path, { text });
    return answer.status !== 200 && answer;
  });
  expect([refused.status, refused.body.detail.code]).toEqual([429, "shell_busy"]);
  const other = await startShell(turnd);
  await runLine(turnd, other.session_id, "echo al''ive", /\nalive/);
  expect((await turnd.request("DELETE", `/v1/shell/sessions/${id}`)).status).toBe(204);
});
