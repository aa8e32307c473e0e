import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { AppOptions } from "../../../../src/turnd/daemon/http/app.ts";
import { createTickets } from "../../../../src/turnd/daemon/terminal/tickets.ts";
import { UrlTicket } from "../../../../src/turnd/protocol/index.ts";
import { openStream } from "./stream-client.ts";
import { createTestApp, listen, problemOf, type TestApp } from "./test-app.ts";

const token = "a-token-of-some-length";
const authorization = `Bearer ${token}`;
const events = "/v1/turns/turn-1/events";

afterEach(() => void vi.useRealTimers());

async function appWithTurns(options: Partial<AppOptions> = {}): Promise<TestApp> {
  const made = await createTestApp({ token, ...options });
  for (const id of ["turn-1", "turn-2"]) {
    const turn = made.service.addTurn(id);
    turn.append({ type: "warning", data: { code: "c", message: "m" } });
    turn.end();
  }
  return made;
}

async function ticketFor({ app }: TestApp, path: string): Promise<UrlTicket> {
  const headers = { authorization };
  const answer = await app.inject({ method: "POST", url: "/v1/tickets", headers, payload: { path } });
  expect([answer.statusCode, answer.headers["cache-control"]]).toEqual([201, "no-store"]);
  return UrlTicket.parse(answer.json());
}

async function statusOf({ app }: TestApp, url: string, method: "GET" | "HEAD" | "POST" | "DELETE" = "GET") {
  return (await app.inject({ method, url })).statusCode;
}

test("a ticket opens a turn's events once, without the token, and the answer leaks it to no other page", async () => {
  const made = await appWithTurns();
  const { url, ticket, expires_in_ms } = await ticketFor(made, events);
  expect([url, expires_in_ms, ticket.length]).toEqual([`${events}?ticket=${ticket}`, 30_000, 32]);
  const { app } = made;
  const first = await app.inject({ url: `${url}&after_seq=1`, headers: { accept: "text/event-stream" } });
  expect([first.statusCode, first.headers["referrer-policy"]]).toEqual([200, "no-referrer"]);
  expect(first.body).toMatch(/^id: 2\nevent: end\n/);
  const again = await app.inject(url);
  expect([again.statusCode, problemOf(again).code]).toEqual([401, "unauthorized"]);
});

test("a ticket is for one GET of its own path, and is used by any other attempt", async () => {
  const made = await appWithTurns();
  const attempts: [url: (ticket: string) => string, method: "GET" | "HEAD" | "POST" | "DELETE"][] = [
    [(ticket) => `/v1/turns/turn-2/events?ticket=${ticket}`, "GET"],
    [(ticket) => `/v1/turns/turn-1/recording?ticket=${ticket}`, "GET"],
    [(ticket) => `/v1/turns/turn%2D1/events?ticket=${ticket}`, "GET"],
    [(ticket) => `/v1/turns/turn-1/../turn-2/events?ticket=${ticket}`, "GET"],
  ];
  for (const [url, method] of attempts) {
    const { ticket } = await ticketFor(made, events);
    expect(await statusOf(made, url(ticket), method)).toBe(401);
  }
  const { ticket, url } = await ticketFor(made, events);
  // Of routes that take none, a ticket says nothing; it stays good for its own.
  for (const other of ["/v1/turns", "/v1/turns/turn-1", "/v1/turns/turn-1/result", "/metrics", "/nothing"])
    expect(await statusOf(made, `${other}?ticket=${ticket}`)).toBe(401);
  for (const method of ["HEAD", "POST", "DELETE"] as const) expect(await statusOf(made, url, method)).toBe(401);
  expect(await statusOf(made, `${events}?ticket=${ticket}&ticket=${ticket}`)).toBe(401);
  expect(await statusOf(made, `/v1/tickets?ticket=${ticket}`, "POST")).toBe(401);
  expect(await statusOf(made, url)).toBe(200);
});

test("a ticket ends with its time and with its turnd", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const made = await appWithTurns({ ticketMs: 5_000 });
  const late = await ticketFor(made, events);
  const inTime = await ticketFor(made, events);
  expect(late.expires_in_ms).toBe(5_000);
  vi.advanceTimersByTime(4_999);
  expect(await statusOf(made, inTime.url)).toBe(200);
  const unused = await ticketFor(made, events);
  vi.advanceTimersByTime(1);
  expect(await statusOf(made, late.url)).toBe(401);
  expect(await statusOf(await appWithTurns({ ticketMs: 5_000 }), unused.url)).toBe(401);
});

test("tickets are given for what takes them alone, and to who has the token alone", async () => {
  const { app } = await appWithTurns();
  const ask = (path: string, headers: Record<string, string> = { authorization }) =>
    app.inject({ method: "POST", url: "/v1/tickets", headers, payload: { path } });
  for (const path of [
    events,
    "/v1/sessions/session-1/events",
    "/v1/shell/sessions/a:b/output",
    "/v1/turns/t/recording",
  ]) {
    expect((await ask(path)).statusCode).toBe(201);
    expect((await ask(path, {})).statusCode).toBe(401);
  }
  for (const path of [
    "",
    "/",
    "/v1/turns",
    "/v1/turns//events",
    `${events}/`,
    `${events}?after_seq=1`,
    `${events}#x`,
    `http://127.0.0.1${events}`,
    "/v1/turns/turn-1/cancel",
    "/metrics",
    `/v1/turns/${"x".repeat(3_000)}/events`,
    "/v1/turns/a\r\nb/events",
  ]) {
    const answer = await ask(path);
    expect([path, answer.statusCode]).toEqual([path, 422]);
    expect(problemOf(answer).fields?.[0]?.path).toBe("path");
  }
});

test("a wrong token is refused also beside a good ticket, and uses nothing", async () => {
  const made = await appWithTurns();
  const { url } = await ticketFor(made, events);
  const wrong = await made.app.inject({ url, headers: { authorization: "Bearer wrong" } });
  expect(wrong.statusCode).toBe(401);
  expect(await statusOf(made, url)).toBe(200);
});

test("without a token a page needs no other code: it gets tickets, and any is as good as none", async () => {
  const made = await appWithTurns({ token: undefined });
  const { url } = await ticketFor(made, events);
  for (const asked of [url, url, events]) expect(await statusOf(made, asked)).toBe(200);
});

test("of many tickets the newest thousand are kept", () => {
  const tickets = createTickets<number>(60_000);
  const issued = Array.from({ length: 1_001 }, (_, index) => tickets.issue(index).ticket);
  expect([tickets.redeem(issued[0] ?? ""), tickets.redeem(issued[1] ?? "")]).toEqual([undefined, 1]);
});

test("no ticket is in the log or in a refusal, whatever becomes of its request", async () => {
  const made = await appWithTurns();
  const { url: base } = await listen(made.app);
  onTestFinished(() => made.app.close());
  const refused = ["&after_seq=x", "&nothing=1", "&verbose=maybe", `&after_seq=99`, "", ""];
  const used: string[] = [];
  for (const query of refused) {
    const next = await ticketFor(made, events);
    used.push(next.ticket);
    const answer = await fetch(`${base}${next.url}${query}`);
    expect(await answer.text()).not.toContain(next.ticket);
    expect(await (await fetch(`${base}${next.url}${query}`)).text()).not.toContain(next.ticket);
  }
  const broken = await ticketFor(made, events);
  const failed = await ticketFor(made, events);
  made.service.failReads(new Error("the disk is gone"));
  await (await openStream(base + failed.url)).ended();
  await fetch(`${base}/v1/turns/%zz/events?ticket=${broken.ticket}`);
  expect(made.logged()).toContain("event stream failed");
  for (const each of [...used, broken.ticket, failed.ticket]) expect(made.logged()).not.toContain(each);
});
