import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createBrowserSessions } from "../../../../src/turnd/daemon/http/inspector/browser-sessions.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { createTestApp, problemOf, type TestApp } from "./test-app.ts";

const token = "a-token-of-some-length";
const PAGE = "<!doctype html><title>turnd</title>";

/** A page as the set-up builds it, as far as serving it goes. */
function builtPage(): string {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "inspector"));
  writeFileSync(join(directory, "index.html"), PAGE);
  writeFileSync(join(directory, "inspector/index-AbC.js"), "export {};");
  writeFileSync(join(directory, "inspector/index-AbC.js.gz"), gzipSync("export {};"));
  return directory;
}

interface LoggedIn {
  /** `name=value`, as a browser sends it. */
  readonly cookie: string;
  readonly "x-turnd-session-key": string;
}

async function logIn({ app }: TestApp, headers: Readonly<Record<string, string>> = {}): Promise<LoggedIn> {
  const answer = await app.inject({ method: "POST", url: "/inspector/session", payload: { token }, headers });
  expect(answer.statusCode).toBe(201);
  const cookie = String(answer.headers["set-cookie"]).split(";")[0] ?? "";
  return { cookie, "x-turnd-session-key": answer.json<{ key: string }>().key };
}

async function statusWith({ app }: TestApp, headers: Readonly<Record<string, string>>): Promise<number> {
  return (await app.inject({ url: "/v1/turns", headers })).statusCode;
}

test("the page is served to anyone, with a policy that lets nothing in", async () => {
  const { app } = await createTestApp({ token, inspectorDirectory: builtPage() });
  const page = await app.inject("/");
  expect([page.statusCode, page.body, page.headers["cache-control"]]).toEqual([200, PAGE, "no-cache"]);
  const policy = String(page.headers["content-security-policy"]);
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
  for (const wanted of ["frame-ancestors 'none'", "require-trusted-types-for 'script'", "form-action 'none'"]) {
    expect(policy).toContain(wanted);
  }
  expect(policy).not.toContain("unsafe");
});

test("what the page loads is kept for ever, and comes by gzip where it is accepted", async () => {
  const { app } = await createTestApp({ token, inspectorDirectory: builtPage() });
  const plain = await app.inject("/inspector/index-AbC.js");
  expect([plain.body, plain.headers["content-encoding"]]).toEqual(["export {};", undefined]);
  expect(plain.headers["cache-control"]).toContain("immutable");
  const packed = await app.inject({ url: "/inspector/index-AbC.js", headers: { "accept-encoding": "br, gzip" } });
  expect(gunzipSync(packed.rawPayload).toString()).toBe("export {};");
  for (const path of ["/inspector/index-AbC.js.gz", "/inspector/%2e%2e/index.html", "/index.html"]) {
    expect((await app.inject(path)).statusCode).not.toBe(200);
  }
});

test("where the page was never built, its address says what to do", async () => {
  const { app } = await createTestApp();
  const answer = await app.inject("/");
  expect([answer.statusCode, problemOf(answer).message]).toEqual([404, expect.stringContaining("npm start")]);
});

test("a login takes the token and gives a cookie that no script reads, and a key", async () => {
  const made = await createTestApp({ token });
  const answer = await made.app.inject({ method: "POST", url: "/inspector/session", payload: { token } });
  expect(String(answer.headers["set-cookie"])).toMatch(
    /^turnd_session_80=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  const { key } = answer.json<{ key: string }>();
  expect(key).toMatch(/^[\w-]{43}$/);
  expect(String(answer.headers["set-cookie"])).not.toContain(key);
  expect(answer.body + String(answer.headers["set-cookie"]) + made.logged()).not.toContain(token);
});

test("a wrong token is no login", async () => {
  const { app } = await createTestApp({ token });
  for (const wrong of ["", "wrong", `${token}x`, token.slice(1)]) {
    const answer = await app.inject({ method: "POST", url: "/inspector/session", payload: { token: wrong } });
    expect([answer.statusCode, answer.headers["set-cookie"]]).toEqual([401, undefined]);
  }
});

test("cookie and key together take the place of the token, and neither alone does", async () => {
  const made = await createTestApp({ token });
  const both = await logIn(made);
  const other = await logIn(made);
  expect(await statusWith(made, { ...both })).toBe(200);
  expect(await statusWith(made, { cookie: both.cookie })).toBe(401);
  expect(await statusWith(made, { "x-turnd-session-key": both["x-turnd-session-key"] })).toBe(401);
  expect(await statusWith(made, { ...both, "x-turnd-session-key": other["x-turnd-session-key"] })).toBe(401);
  expect(await statusWith(made, { ...both, cookie: other.cookie })).toBe(401);
  expect(await statusWith(made, { ...both, cookie: `a=b; ${both.cookie}; c=d` })).toBe(200);
});

test("a page of elsewhere cannot log in or use a login", async () => {
  const made = await createTestApp({ token });
  const both = await logIn(made);
  for (const origin of ["http://127.0.0.1:3000", "https://evil.example", "null"]) {
    expect(await statusWith(made, { ...both, origin, host: "127.0.0.1:8091" })).toBe(403);
    const headers = { origin, host: "127.0.0.1:8091" };
    const answer = await made.app.inject({ method: "POST", url: "/inspector/session", payload: { token }, headers });
    expect(answer.statusCode).toBe(403);
  }
});

test("the cookie's name has the port, and over HTTPS it is Secure", async () => {
  const { app } = await createTestApp({ token, hosts: ["box.example"] });
  const headers = { host: "box.example:8443", origin: "https://box.example:8443" };
  const answer = await app.inject({ method: "POST", url: "/inspector/session", payload: { token }, headers });
  expect(String(answer.headers["set-cookie"])).toMatch(/^turnd_session_8443=.*; Secure$/);
});

test("a logout ends the login, and its page is sent to the login", async () => {
  const made = await createTestApp({ token });
  const both = await logIn(made);
  const stateOf = async (headers: object): Promise<unknown> =>
    (await made.app.inject({ url: "/inspector/session", headers: { ...headers } })).json();
  expect(await stateOf(both)).toMatchObject({ login: "done" });
  const gone = await made.app.inject({ method: "DELETE", url: "/inspector/session", headers: { ...both } });
  expect([gone.statusCode, String(gone.headers["set-cookie"])]).toEqual([204, expect.stringContaining("Max-Age=0")]);
  expect(await statusWith(made, { ...both })).toBe(401);
  expect(await stateOf(both)).toMatchObject({ login: "needed" });
});

test("without a token there is no login", async () => {
  const { app } = await createTestApp();
  expect((await app.inject("/inspector/session")).json()).toMatchObject({ login: "open" });
});

test("a login expires, and the thousand and first ends the first", () => {
  let now = 0;
  const sessions = createBrowserSessions({ now: () => now, lifeMs: 1_000 });
  const headersOf = ({ cookie, key }: { cookie: string; key: string }) => ({
    cookie: `turnd_session=${cookie}`,
    "x-turnd-session-key": key,
  });
  const first = headersOf(sessions.open());
  now = 999;
  expect(sessions.isTrusted(first)).toBe(true);
  now = 1_000;
  expect(sessions.isTrusted(first)).toBe(false);
  const second = headersOf(sessions.open());
  for (let count = 0; count < 999; count += 1) sessions.open();
  expect(sessions.isTrusted(second)).toBe(true);
  sessions.open();
  expect(sessions.isTrusted(second)).toBe(false);
});
