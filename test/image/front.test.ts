import { afterAll, beforeAll, expect, test } from "vitest";
import { describeImage, KEY, shareSandbox, startModel, TOKEN } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";
import { expectProblem, sendRaw } from "./front-program.ts";

describeImage("the front", () => {
  let model: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    model = await startModel();
  });
  afterAll(() => model.model.close());
  const sandbox = shareSandbox(() => ({ env: { TURND_MAX_BODY_BYTES: "100000", ...model.env } }));

  test("an unknown path is a problem", async () => {
    for (const path of ["/none", "/v2", "/v1x", "/terminals", "/.proxy", "/metrics/x"]) {
      expectProblem(await sandbox().request("GET", path), "route_not_found");
    }
  });

  test("a body is as large as turnd takes, with or without its length", async () => {
    const path = "/v1/turns";
    expectProblem(await sandbox().request("POST", path, { input: "x".repeat(90_000) }), "invalid_request");
    expectProblem(await sandbox().request("POST", path, { input: "x".repeat(100_000) }), "body_too_large");
    const chunk = `${(0x20000).toString(16)}\r\n${"x".repeat(0x20000)}\r\n0\r\n\r\n`;
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\nContent-Type: application/json\r\n`;
    expect(await sendRaw(sandbox(), `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`)).toMatch(
      /^HTTP\/1.1 413 [^]*"body_too_large"/,
    );
  });

  test("what is no HTTP, or too large for it, is a problem of the same form", async () => {
    const long = "x".repeat(70_000);
    for (const [bytes, status] of [
      ["hello\r\n\r\n", 400],
      ["GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400],
      ["CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400],
      [`GET /${long} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
      [`GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${long}\r\n\r\n`, 431],
    ] as const) {
      const answer = await sendRaw(sandbox(), bytes);
      expect(answer).toMatch(new RegExp(`HTTP/1.1 ${status} [^]*application/json[^]*"code":"invalid_request"`));
    }
  });

  test("with the token every Host is good, and a page may ask only where it comes from", async () => {
    const ask = async (host: string, origin?: string) => {
      const headers = [`Host: ${host}`, `Authorization: Bearer ${TOKEN}`, ...(origin ? [`Origin: ${origin}`] : [])];
      return (
        await sendRaw(sandbox(), `GET /v1/turns HTTP/1.1\r\n${headers.join("\r\n")}\r\nConnection: close\r\n\r\n`)
      ).slice(9, 12);
    };
    expect(await ask("sandbox.example")).toBe("200");
    expect(await ask("sandbox.example:8080", "http://sandbox.example:8080")).toBe("200");
    expect(await ask("sandbox.example:8080", "http://evil.example")).toBe("403");
  });

  test("passes the terminal's page, and turnd's pages and figures", async () => {
    for (const [path, type] of [
      ["/terminal?session_id=01890000-0000-7000-8000-000000000000", /^text\/html/],
      ["/docs/", /^text\/html/],
      ["/docs/static/swagger-ui-bundle.js", /javascript/],
      ["/openapi.json", /^application\/json/],
      ["/metrics", /^text\/plain/],
    ] as const) {
      const { status, headers } = await sandbox().request("GET", path);
      expect([path, status, headers.get("content-type")]).toEqual([path, 200, expect.stringMatching(type)]);
    }
  });

  test("passes events while the turn runs, not at its end", async () => {
    const { turn_id } = await sandbox().admit({ executor: "cli-b", input: "@@sleep:300@@" });
    let seen = 0;
    for await (const frame of sandbox().follow(turn_id)) {
      seen += 1;
      // The first event's turn goes on until it is cancelled, so that it arrives is the proof.
      if (frame.event === "tool.started") await sandbox().request("POST", `/v1/turns/${turn_id}/cancel`);
      if (frame.event === "end") expect(JSON.parse(frame.data)).toMatchObject({ data: { status: "cancelled" } });
    }
    expect(seen).toBeGreaterThan(3);
  });

  test("turnd's being away is answered as such, with when to try again", async () => {
    await sandbox().exec(["pkill", "-STOP", "supervise"]);
    await sandbox().exec(["pkill", "-KILL", "-f", "main.mjs"]);
    const answer = await sandbox().request("GET", "/v1/turns");
    expectProblem(answer, "turnd_unavailable");
    expect(answer.headers.get("retry-after")).toBe("1");
    expectProblem(await sandbox().request("GET", "/terminal"), "terminal_unavailable");
    await sandbox().exec(["pkill", "-CONT", "supervise"]);
    await waitFor("turnd", async () => (await sandbox().request("GET", "/v1/ready")).status === 200);
  });

  test("nothing of a key or the token is in the log", async () => {
    const log = await sandbox().log();
    expect(log).toContain("turn ended");
    expect(log).not.toContain(KEY);
    expect(log).not.toContain(TOKEN);
  });
});

describeImage("without a token, where there is IPv6", () => {
  const sandbox = shareSandbox(() => ({ env: { TURND_TOKEN: "" }, hasIpv6: true }));

  test("the front is there too, so that no program of the sandbox can take its port and be sent tokens", async () => {
    const { exitCode, output } = await sandbox().exec(["curl", "-sfg", "http://[::1]:8080/v1/health"]);
    expect([exitCode, output]).toEqual([0, expect.stringContaining('"ok"')]);
    const listen =
      'require("net").createServer().on("error", (e) => console.log(e.code)).listen({ port: 8080, host: "::", ipv6Only: true })';
    expect((await sandbox().exec(["timeout", "20", "node", "-e", listen], "1000")).output).toContain("EADDRINUSE");
  });

  test("the container warns, and only addresses and loopback names are answered", async () => {
    expect(await sandbox().log()).toContain("warning: no TURND_TOKEN");
    const ask = (host: string) =>
      sendRaw(sandbox(), `GET /v1/turns HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    for (const host of ["localhost:8080", "10.1.2.3:8080"]) expect(await ask(host)).toMatch(/^HTTP\/1.1 200/);
    expect(await ask("sandbox.example")).toMatch(/^HTTP\/1.1 403 [^]*"forbidden_origin"/);
  });
});
