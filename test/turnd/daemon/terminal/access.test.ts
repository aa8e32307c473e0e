import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { askTicket, connect, newTerminal, terminalDaemon, upgradeStatus, view } from "../../../harness/terminal.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const TOKEN = "a-token-of-some-length";
const BEARER = { authorization: `Bearer ${TOKEN}` };

async function ticketFor(site: string, id: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await askTicket(site, id, headers);
  expect(answer.status).toBe(201);
  return JSON.parse(await answer.text()).ticket;
}

async function refusalOf(answer: Response): Promise<[number, string]> {
  return [answer.status, JSON.parse(await answer.text()).detail.code];
}

test("the URL that turnd gives opens a new terminal by itself, each with an id that cannot be guessed", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_TOKEN: TOKEN, TURND_TERMINAL_URL: "https://sandbox.example" });
  expect((await turnd.request("GET", "/v1/shell/terminal-url")).status).toBe(401);
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url", undefined, BEARER);
  expect(body).toMatchObject({ success: true, message: "ok" });
  expect(body.data).toMatch(/^https:\/\/sandbox\.example\/terminal\?session_id=[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/);
  const [one, other] = [await newTerminal(turnd, BEARER), await newTerminal(turnd, BEARER)];
  expect(one).not.toBe(other);
  expect(await upgradeStatus(connect(site, await ticketFor(site, one)))).toBe(101);
});

test("by default the URL is where this turnd serves the page", async () => {
  const { turnd, site } = await terminalDaemon();
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url");
  expect(body.data).toMatch(new RegExp(`^${site}/terminal\\?session_id=`));
  expect((await fetch(body.data)).status).toBe(200);
});

test("through a front the URL is where the front was asked, unless one is set", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const sockets = { TURND_SOCKET: join(directory, "turnd"), TURND_TERMINAL_SOCKET: join(directory, "terminal") };
  const askFront = async (host: string): Promise<string> => {
    const args = ["-sS", "--unix-socket", sockets.TURND_SOCKET, "-H", `host: ${host}`];
    const { stdout } = await execa("curl", [...args, "http://front/v1/shell/terminal-url"]);
    return JSON.parse(stdout).data;
  };
  const { turnd, site } = await terminalDaemon(sockets);
  for (const host of ["127.0.0.1:9999", "localhost", "[::1]:8080"]) {
    expect((await askFront(host)).startsWith(`http://${host}/terminal?session_id=`)).toBe(true);
  }
  // Past the front is where the page itself is.
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url", undefined, { host: "127.0.0.1:9999" });
  expect(body.data.startsWith(`${site}/terminal`)).toBe(true);
  const elsewhere = await askTicket(site, "x", { origin: "https://sandbox.example" });
  expect([elsewhere.status, await elsewhere.text()]).toEqual([403, expect.stringContaining("TURND_TERMINAL_URL")]);
  await turnd.stop();
  await terminalDaemon({ ...sockets, TURND_TERMINAL_URL: "https://sandbox.example" });
  expect(await askFront("127.0.0.1:9999")).toMatch(/^https:\/\/sandbox\.example\/terminal/);
});

test("a ticket for a new terminal needs the token, and names the terminal", async () => {
  const { site } = await terminalDaemon({ TURND_TOKEN: TOKEN });
  const ask = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${site}/terminal/tickets`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: "{}",
    });
  expect(await refusalOf(await ask({}))).toEqual([401, "unauthorized"]);
  const { ticket, session_id: id } = JSON.parse(await (await ask(BEARER)).text());
  expect(await upgradeStatus(connect(site, ticket))).toBe(101);
  // From now on it is a link, as good as one of terminal-url.
  expect((await askTicket(site, id)).status).toBe(201);
});

test("a turn session's terminal, whose id can be guessed, is opened with the token alone", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_TOKEN: TOKEN });
  const id = "session:one";
  await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: id }, BEARER);
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url?session_id=session:one", undefined, BEARER);
  expect(new URL(body.data).searchParams.get("session_id")).toBe(id);
  expect(await refusalOf(await askTicket(site, id))).toEqual([401, "unauthorized"]);
  expect(await refusalOf(await askTicket(site, id, { authorization: "Bearer wrong" }))).toEqual([401, "unauthorized"]);
  expect(await upgradeStatus(connect(site, await ticketFor(site, id, BEARER)))).toBe(101);
  // Nor does it tell who has no token which ids there are.
  expect(await refusalOf(await askTicket(site, "session:two"))).toEqual([401, "unauthorized"]);
  expect(await refusalOf(await askTicket(site, "session:two", BEARER))).toEqual([404, "session_not_found"]);
});

test("the URL of a session that is not there is not given", async () => {
  const { turnd } = await terminalDaemon();
  const answer = await turnd.request("GET", "/v1/shell/terminal-url?session_id=no-such-session");
  expect([answer.status, answer.body.detail.code]).toEqual([404, "session_not_found"]);
});

test("a UUID that turnd did not give is opened with the token alone; without one it is as good as a new one", async () => {
  const unknownId = "3f0f6c1e-7d3b-4c3a-9b57-0f4c5a1d2e3f";
  const guarded = await terminalDaemon({ TURND_TOKEN: TOKEN });
  expect(await refusalOf(await askTicket(guarded.site, unknownId))).toEqual([401, "unauthorized"]);
  expect((await askTicket(guarded.site, unknownId, BEARER)).status).toBe(201);
  const open = await terminalDaemon();
  expect((await askTicket(open.site, unknownId)).status).toBe(201);
  expect(await refusalOf(await askTicket(open.site, "not-a-uuid"))).toEqual([404, "session_not_found"]);
});

test("a ticket is good once, and one that is made up or absent is not", async () => {
  const { turnd, site } = await terminalDaemon();
  const id = await newTerminal(turnd);
  const ticket = await ticketFor(site, id);
  expect(await upgradeStatus(connect(site, ticket))).toBe(101);
  expect(await upgradeStatus(connect(site, ticket))).toBe(401);
  expect(await upgradeStatus(connect(site, "made-up"))).toBe(401);
  const without = await fetch(`${site}/terminal/ws`);
  expect(without.status).toBe(404);
});

test("a ticket that is old opens nothing", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_TERMINAL_TICKET_MS: "100" });
  const old = await ticketFor(site, await newTerminal(turnd));
  const expiresAt = performance.now() + 150;
  await waitFor("its time to be over", () => performance.now() > expiresAt);
  expect(await upgradeStatus(connect(site, old))).toBe(401);
});

test("a link that has lain unused opens nothing more", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_TOKEN: TOKEN, TURND_SHELL_IDLE_MS: "300" });
  const id = await newTerminal(turnd, BEARER);
  const expiresAt = performance.now() + 400;
  await waitFor("its time to be over", () => performance.now() > expiresAt);
  expect(await refusalOf(await askTicket(site, id))).toEqual([401, "unauthorized"]);
});

test("a link is not in the log, whatever is done with its terminal", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_TOKEN: TOKEN, TURND_LOG_LEVEL: "debug" });
  const ids = [
    await newTerminal(turnd, BEARER),
    (await turnd.request("POST", "/v1/shell/sessions", {}, BEARER)).body.session_id,
  ];
  for (const id of ids) {
    const viewer = await view(site, id);
    const path = `/v1/shell/sessions/${id}`;
    const requests = [
      ["GET", path],
      ["GET", `${path}/output?after=0`],
      ["POST", `${path}/input`, { text: "echo he''re\r" }],
      ["POST", `${path}/resize`, { cols: 90, rows: 30 }],
      ["POST", `${path}/no-such-route`],
      ["GET", `/v1/shell/sessions/%${Buffer.from(id.slice(0, 1)).toString("hex")}${id.slice(1)}`],
      ["GET", `/v1/shell/terminal-url?session_id=${id}`],
      ["DELETE", path],
    ] as const;
    for (const [method, at, body] of requests) await turnd.request(method, at, body, BEARER);
    await viewer.hears("ended");
    await viewer.closed;
  }
  await turnd.stop();
  const log = turnd.log.join("\n");
  expect(turnd.log.filter((line) => line.includes('"msg":"shell ended"'))).toHaveLength(ids.length);
  expect(turnd.log.filter((line) => line.includes('"method":"DELETE"'))).toHaveLength(ids.length);
  // The encoded form is the same but for its first character.
  for (const id of ids) expect(log).not.toContain(id.slice(1));
});

test("pages of elsewhere get no ticket and no WebSocket", async () => {
  const { turnd, site } = await terminalDaemon({
    TURND_TERMINAL_URL: "http://127.0.0.1:8080",
    TURND_TERMINAL_ORIGINS: "https://other.example",
  });
  const id = await newTerminal(turnd);
  const good = [site, "http://127.0.0.1:8080", "https://other.example"];
  const bad = ["http://evil.example", "http://127.0.0.1:1", site.replace("127.0.0.1", "localhost"), "null", ""];
  for (const origin of good) {
    const ticket = await ticketFor(site, id, { origin });
    expect([origin, await upgradeStatus(connect(site, ticket, { origin }))]).toEqual([origin, 101]);
  }
  for (const origin of bad) {
    if (origin !== "")
      expect(await refusalOf(await askTicket(site, id, { origin }))).toEqual([403, "forbidden_origin"]);
    const ticket = await ticketFor(site, id);
    expect([origin, await upgradeStatus(connect(site, ticket, { origin }))]).toEqual([origin, 403]);
    // It was refused before the ticket was looked at.
    expect(await upgradeStatus(connect(site, ticket))).toBe(101);
  }
});

test("a name that was made to lead to loopback is no good Host; a configured one is", async () => {
  const { turnd, site } = await terminalDaemon({ TURND_TERMINAL_ORIGINS: "https://sandbox.example" });
  const id = await newTerminal(turnd);
  const hosts = { "evil.example": 403, "127.0.0.1.evil.example": 403, "localhost:1": 101, "sandbox.example": 101 };
  for (const [host, status] of Object.entries(hosts)) {
    const ticket = await ticketFor(site, id);
    expect([host, await upgradeStatus(connect(site, ticket, { host }))]).toEqual([host, status]);
  }
});

test("the page and its files are served to be used from here alone, and cannot be framed", async () => {
  const { site } = await terminalDaemon({ TURND_TOKEN: TOKEN });
  for (const [path, type] of [
    ["/terminal?session_id=x", "text/html"],
    ["/terminal/terminal.js", "text/javascript"],
    ["/terminal/connection.js", "text/javascript"],
    ["/terminal/terminal.css", "text/css"],
    ["/terminal/xterm.mjs", "text/javascript"],
    ["/terminal/addon-fit.mjs", "text/javascript"],
    ["/terminal/xterm.css", "text/css"],
  ] as const) {
    const answer = await fetch(`${site}${path}`);
    expect([path, answer.status, answer.headers.get("content-type")?.split(";")[0]]).toEqual([path, 200, type]);
    const policy = answer.headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    await answer.arrayBuffer();
  }
  for (const path of ["/", "/v1/turns", "/terminal/../v1/turns", "/terminal/index.html", "/terminal/%2e%2e/keeper"]) {
    expect((await fetch(`${site}${path}`)).status).toBe(404);
  }
});
