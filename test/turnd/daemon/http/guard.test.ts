import { expect, test } from "vitest";
import { createTestApp, problemOf } from "./test-app.ts";

const token = "a-token-of-some-length";

test("without the token a request is unauthorized, and the answer names how to authenticate", async () => {
  const { app } = await createTestApp({ token });
  for (const authorization of [undefined, "Bearer wrong", `Basic ${token}`, token, "Bearer", `Bearer ${token}x`]) {
    const response = await app.inject({
      url: "/v1/turns",
      headers: authorization === undefined ? {} : { authorization },
    });
    expect(response.statusCode).toBe(401);
    expect(problemOf(response).code).toBe("unauthorized");
    expect(response.headers["www-authenticate"]).toMatch(/^Bearer/);
  }
});

test("with the token a request is answered, however its scheme is written", async () => {
  const { app } = await createTestApp({ token });
  for (const scheme of ["Bearer", "bearer"]) {
    const response = await app.inject({ url: "/v1/turns", headers: { authorization: `${scheme} ${token}` } });
    expect(response.statusCode).toBe(200);
  }
});

test("only the probes and the description of the API are answered without the token", async () => {
  const { app } = await createTestApp({ token });
  const open = ["/v1/health", "/v1/ready", "/openapi.json", "/docs", "/docs/json", "/docs/static/swagger-ui-bundle.js"];
  for (const url of open) {
    const answer = await app.inject(url);
    expect([url, answer.statusCode]).toEqual([url, 200]);
    expect(answer.body).not.toContain(token);
    expect((await app.inject({ url, headers: { host: "evil.example" } })).statusCode).toBe(403);
  }
  for (const url of ["/v1/sandbox", "/v1/turns", "/metrics", "/nothing", "/docsx", "/openapi.json/"]) {
    expect([url, (await app.inject(url)).statusCode]).toEqual([url, 401]);
  }
});

test("on a loopback bind only addresses and loopback names are good Hosts", async () => {
  const { app } = await createTestApp({ token });
  const ask = (host: string) => app.inject({ url: "/v1/health", headers: { host } });
  for (const host of [
    "localhost",
    "127.0.0.1:8091",
    "127.8.9.1",
    "[::1]:80",
    "LOCALHOST:1",
    "10.0.0.1:8080",
    "[fd00::1]:8080",
  ]) {
    expect((await ask(host)).statusCode).toBe(200);
  }
  for (const host of [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:80",
    "10.0.0.1.evil.example",
    "a@localhost",
    "a@10.0.0.1",
  ]) {
    const response = await ask(host);
    expect(response.statusCode).toBe(403);
    expect(problemOf(response).code).toBe("forbidden_origin");
  }
});

test("a token and a bind beyond loopback make any Host good; without a token none but loopback is", async () => {
  const headers = { host: "sandbox.example", authorization: `Bearer ${token}` };
  const guarded = await createTestApp({ token, host: "0.0.0.0" });
  expect((await guarded.app.inject({ url: "/v1/turns", headers })).statusCode).toBe(200);
  const open = await createTestApp({ host: "0.0.0.0" });
  expect((await open.app.inject({ url: "/v1/turns", headers })).statusCode).toBe(403);
});

test("a name of the settings is a good Host, on any port; `*` is every name", async () => {
  const ask = async (hosts: string[], host: string) =>
    (await (await createTestApp({ hosts })).app.inject({ url: "/v1/turns", headers: { host } })).statusCode;
  for (const host of ["sandbox.example", "SANDBOX.example:8080", "localhost"]) {
    expect(await ask(["Sandbox.Example"], host)).toBe(200);
  }
  for (const host of ["evil.example", "sandbox.example.evil.example", "a@sandbox.example"]) {
    expect(await ask(["sandbox.example"], host)).toBe(403);
  }
  expect(await ask(["*"], "evil.example")).toBe(200);
});

test("a page of another host or port is refused, and one of this host is not", async () => {
  const { app } = await createTestApp();
  const ask = (origin: string) => app.inject({ url: "/v1/turns", headers: { host: "127.0.0.1:8091", origin } });
  expect((await ask("http://127.0.0.1:8091")).statusCode).toBe(200);
  for (const origin of [
    "http://evil.example",
    "http://127.0.0.1:3000",
    "http://localhost:8091",
    "null",
    "file://",
    "",
  ]) {
    const response = await ask(origin);
    expect(response.statusCode).toBe(403);
    expect(problemOf(response).code).toBe("forbidden_origin");
  }
});

test("default ports of an Origin count as its port", async () => {
  const { app } = await createTestApp({ token, host: "0.0.0.0" });
  const headers = { host: "sandbox.example", origin: "https://sandbox.example", authorization: `Bearer ${token}` };
  expect((await app.inject({ url: "/v1/turns", headers })).statusCode).toBe(200);
});

test("neither tokens nor bodies nor queries are logged", async () => {
  const { app, logged } = await createTestApp({ token });
  const sent = "sentinel-in-the-body";
  await app.inject({
    method: "POST",
    url: "/v1/turns?odd=sentinel-in-the-query",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    payload: JSON.stringify({ input: sent, executor: "cli-a" }),
  });
  await app.inject({ url: "/v1/turns", headers: { authorization: "Bearer sentinel-wrong-token" } });
  expect(logged()).toContain("request answered");
  expect(logged()).not.toContain("sentinel");
  expect(logged()).not.toContain(token);
});
