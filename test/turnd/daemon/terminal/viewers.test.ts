import { createHash, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { newTerminal, plain, runLine, terminalDaemon, view } from "../../../harness/terminal.ts";
import { waitFor } from "../../../harness/wait-for.ts";

test("a viewer who comes back is shown the scrollback, and the shell goes on", async () => {
  const { turnd, site } = await terminalDaemon();
  const id = await newTerminal(turnd);
  const first = await view(site, id);
  expect(await first.hears("attached")).toEqual({
    type: "attached",
    cols: 80,
    rows: 24,
    replay_bytes: 0,
    created_at: expect.any(String),
    others: 0,
  });
  first.type("kept=yes; echo fi''rst\r");
  await first.shows(/\nfirst\n/);
  const before = first.output();
  expect(await first.close()).toBe(1005);

  const second = await view(site, id);
  const { replay_bytes: replayBytes } = await second.hears("attached");
  expect(replayBytes).toBeGreaterThanOrEqual(before.length);
  await second.shows(/\nfirst\n/);
  expect(second.output().subarray(0, before.length)).toEqual(before);
  second.type("echo kept:$kept\r");
  await second.shows(/\nkept:yes\n/);
});

test("several viewers of one shell see the same, and any of them may type", async () => {
  const { turnd, site } = await terminalDaemon();
  const id = await newTerminal(turnd);
  const one = await view(site, id);
  const other = await view(site, id);
  const [first, second] = [await one.hears("attached"), await other.hears("attached")];
  expect([first.others, second.others]).toEqual([0, 1]);
  // By this a viewer knows whether its shell is the one that it left.
  expect(second.created_at).toBe(first.created_at);
  expect((await turnd.request("GET", `/v1/shell/sessions/${id}`)).body.viewers).toBe(2);
  one.type("echo from-o''ne\r");
  await other.shows(/\nfrom-one\n/);
  other.type("echo from-oth''er\r");
  await one.shows(/\nfrom-other\n/);
  await runLine(turnd, id, "echo over-ht''tp", /\nover-http\n/);
  await Promise.all([one.shows(/\nover-http\n/), other.shows(/\nover-http\n/)]);
  await waitFor("the same", () => one.output().equals(other.output()));
});

test("the last viewer that reports its size is followed, and all are notified", async () => {
  const { turnd, site } = await terminalDaemon();
  const id = await newTerminal(turnd);
  const one = await view(site, id, { size: { cols: 90, rows: 30 } });
  const other = await view(site, id, { size: { cols: 70, rows: 20 } });
  expect(await one.hears("resized")).toEqual({ type: "resized", cols: 70, rows: 20 });
  other.type("stty size\r");
  await other.shows(/\n20 70\n/);
  one.resize({ cols: 100, rows: 40 });
  expect(await other.hears("resized")).toEqual({ type: "resized", cols: 100, rows: 40 });
  one.type("stty size\r");
  await one.shows(/\n40 100\n/);
});

test("20 MB arrive whole at a viewer that reads", async () => {
  const { turnd, site } = await terminalDaemon();
  const viewer = await view(site, await newTerminal(turnd));
  viewer.type("stty -opost -echo; PS1=\r");
  // Summed up from a file: a shell does not wait for what it has started by `>(…)`.
  viewer.type(
    "base64 -w 76 /dev/urandom | head -c 20000000 > printed; cat printed; echo; echo en''d:$(sha256sum < printed)\r",
  );
  const tail = await waitFor("the sum", () => /\nend:([0-9a-f]{64})/.exec(viewer.tail()));
  const output = viewer.output();
  const end = output.lastIndexOf("\nend:");
  const printed = output.subarray(end - 20_000_000, end);
  expect(createHash("sha256").update(printed).digest("hex")).toBe(tail[1]);
});

test("a shell waits for a viewer that reads slowly, in bounded memory", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_SHELL_STALL_MS: "600000", TURND_SSE_HEARTBEAT_MS: "600000" });
  const id = await newTerminal(turnd);
  const viewer = await view(site, id);
  viewer.type("echo re''ady\r");
  await viewer.shows(/\nready\n/);
  viewer.socket.pause();
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, {
    text: "head -c 40000000 /dev/zero | tr '\\0' x; echo do''ne\r",
  });
  const printed = async () => (await turnd.request("GET", `/v1/shell/sessions/${id}`)).body.next_offset;
  // What the system takes for a socket has a bound of its own; beyond it nothing is printed.
  await waitFor("the shell to stand still", async () => {
    const before = await printed();
    await delay(300);
    return before > 100_000 && (await printed()) === before;
  });
  expect(await printed()).toBeLessThan(30_000_000);
  viewer.socket.resume();
  await waitFor("the rest", () => viewer.tail().includes("done"));
  expect(viewer.bytes()).toBeGreaterThan(40_000_000);
});

test("a viewer that takes nothing is dropped, and the shell goes on without it", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_SHELL_STALL_MS: "300" });
  const id = await newTerminal(turnd);
  const hung = await view(site, id);
  hung.socket.pause();
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, {
    text: "head -c 30000000 /dev/zero | tr '\\0' x; echo do''ne\r",
  });
  await waitFor("its end", async () => (await turnd.request("GET", `/v1/shell/sessions/${id}`)).body.viewers === 0);
  const second = await view(site, id);
  await second.shows(/done/);
  hung.socket.terminate();
});

test("scrollback that is cut begins at the start of a line", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_SHELL_SCROLLBACK_BYTES: "131072" });
  const id = await newTerminal(turnd);
  const first = await view(site, id);
  first.type("for i in {1..30000}; do echo \"line-$i ✓\"; done; echo en''d\r");
  await waitFor("the end", () => first.tail().includes("\r\nend"));
  const second = await view(site, id);
  const { replay_bytes: bytes } = await second.hears("attached");
  expect(bytes).toBeLessThanOrEqual(131_072);
  await waitFor("the replay", () => second.bytes() >= bytes);
  const lines = plain(second.text()).split("\n");
  expect(lines[0]).toMatch(/^line-\d+ ✓$/);
  expect(second.text()).not.toContain("\ufffd");
});

test("a shell that ends notifies its viewers, and is started anew where one asks for it", async () => {
  const { turnd, site } = await terminalDaemon();
  const id = await newTerminal(turnd);
  const viewer = await view(site, id);
  viewer.type("echo las''t; exit 3\r");
  expect(await viewer.hears("ended")).toEqual({ type: "ended", exit: { code: 3, ended_by: "exit" } });
  expect(await viewer.closed).toBe(1000);
  const late = await view(site, id);
  await late.hears("ended");
  expect(plain(late.text())).toContain("\nlast\n");
  const fresh = await view(site, id, { restart: true });
  expect(await fresh.hears("attached")).toMatchObject({ replay_bytes: 0 });
  fresh.type("echo ne''w\r");
  await fresh.shows(/\nnew\n/);
});

test("a shell that is watched is not idle; when its viewer has left it is", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_SHELL_IDLE_MS: "500" });
  const id = await newTerminal(turnd);
  const viewer = await view(site, id);
  // Another shell, without a viewer, comes and goes meanwhile.
  const other = (await turnd.request("POST", "/v1/shell/sessions", {})).body.session_id;
  const statusOf = async (wanted: string): Promise<string> =>
    (await turnd.request("GET", "/v1/shell/sessions")).body.sessions.find(
      (one: { session_id: string }) => one.session_id === wanted,
    ).status;
  await waitFor("the other's end", async () => (await statusOf(other)) === "ended");
  expect(await statusOf(id)).toBe("running");
  await viewer.close();
  await waitFor("its end", async () => (await statusOf(id)) === "ended");
});

test("a viewer that sends another message first, or an unknown one, is closed or ignored", async () => {
  const { turnd, site } = await terminalDaemon();
  const id = await newTerminal(turnd);
  const viewer = await view(site, id);
  for (const nonsense of ["not json", "{}", '{"type":"resize","cols":0,"rows":-1}']) viewer.socket.send(nonsense);
  viewer.type("stty size\r");
  await viewer.shows(/\n24 80\n/);
});

test("no more viewers watch a shell than may", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_SHELL_MAX_VIEWERS: "1" });
  const id = await newTerminal(turnd);
  await view(site, id);
  const second = await view(site, id);
  expect(await second.hears("refused")).toMatchObject({ code: "too_many_viewers" });
  expect(await second.closed).toBe(4002);
});

test("a paste larger than what a terminal takes at once arrives whole at a program that reads it", async () => {
  const { turnd, site } = await terminalDaemon();
  const viewer = await view(site, await newTerminal(turnd));
  viewer.type("stty raw -echo; echo re''ady; head -c 3000000 | sha256sum; stty sane\r");
  await viewer.shows(/ready/);
  const paste = randomBytes(2_250_000).toString("base64");
  for (let at = 0; at < paste.length; at += 500_000) viewer.type(paste.slice(at, at + 500_000));
  const [, sum] = await viewer.shows(/([0-9a-f]{64})/);
  expect(sum).toBe(createHash("sha256").update(paste).digest("hex"));
});

test("a viewer that leaves while its keys wait for a program that does not read is gone", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_SSE_HEARTBEAT_MS: "200" });
  const id = await newTerminal(turnd);
  const viewer = await view(site, id);
  viewer.type("stty raw -echo; echo de''af; sleep 1000\r");
  await viewer.shows(/deaf/);
  for (let sent = 0; sent < 8; sent += 1) viewer.type("x".repeat(500_000));
  viewer.socket.terminate();
  await waitFor("its leave", async () => (await turnd.request("GET", `/v1/shell/sessions/${id}`)).body.viewers === 0);
  expect((await turnd.request("DELETE", `/v1/shell/sessions/${id}`)).status).toBe(204);
});
