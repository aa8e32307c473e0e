import { once } from "node:events";
import { beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Problem } from "../../src/turnd/protocol/index.ts";
import { describeImage, shareSandbox, TOKEN } from "../harness/sandbox.ts";
import { expectProblem, sendRaw, startProgram } from "./front-program.ts";

describeImage("the port header", () => {
  const sandbox = shareSandbox();
  const ask = (port: string, path = "/", headers: Record<string, string> = {}) =>
    sandbox().request("GET", path, undefined, { "x-aio-proxy-port": port, ...headers });

  beforeAll(() => startProgram(sandbox(), 3000));

  test("leads to that port of loopback, with the target as it was sent", async () => {
    const { status, text: answered } = await ask("3000", "/a%20b//c?d=%2F&e");
    expect(status).toBe(200);
    expect(JSON.parse(answered)).toMatchObject({
      url: "/a%20b//c?d=%2F&e",
      headers: { host: "localhost:3000", "x-forwarded-host": new URL(sandbox().url).host },
    });
    expect(JSON.parse(answered).headers).not.toHaveProperty("x-aio-proxy-port");
  });

  test("asks for the token, which the program is not sent; what else it is sent to know its callers by it gets", async () => {
    for (const headers of [
      {},
      { authorization: "Bearer another-token" },
      { authorization: "Basic b3BlbmNvZGU6eA==" },
      { authorization: `Bearer ${TOKEN}`, "x-turnd-token": "another-token" },
    ] as Record<string, string>[]) {
      const body = "x".repeat(1_000_000);
      for (const init of [{}, { method: "POST", body }]) {
        const refused = await fetch(`${sandbox().url}/config`, {
          ...init,
          headers: { "x-aio-proxy-port": "3000", ...headers },
        });
        expect([headers, refused.status, refused.headers.get("www-authenticate")]).toEqual([
          headers,
          401,
          'Bearer realm="turnd"',
        ]);
        expect(Problem.parse(await refused.json()).detail.code).toBe("unauthorized");
      }
    }
    const byAuthorization = JSON.parse((await ask("3000")).text).headers;
    expect(byAuthorization).not.toHaveProperty("authorization");
    const both = await ask("3000", "/", { authorization: "Basic b3BlbmNvZGU6eA==", "x-turnd-token": TOKEN });
    expect(JSON.parse(both.text).headers).toMatchObject({ authorization: "Basic b3BlbmNvZGU6eA==" });
    expect(byAuthorization).not.toHaveProperty("x-turnd-token");
    expect(both.text).not.toContain(TOKEN);
    expect((await ask("3000", "/", { origin: "http://elsewhere.example" })).status).toBe(200);
  });

  test("wins over the sandbox's own paths", async () => {
    for (const path of ["/v1/turns", "/terminal", "/docs"]) {
      expect(JSON.parse((await ask("3000", path)).text)).toMatchObject({ url: path });
    }
  });

  test.each(["1024", "65535", "4096"])("%s is a port, on which no program listens", async (port) => {
    expectProblem(await ask(port), "upstream_unreachable");
  });

  test.each(["8080", "8091", "6080", "22", "80", "1", "1023"])("%s is not offered", async (port) => {
    expectProblem(await ask(port), "proxy_port_forbidden");
  });

  test.each(
    "0|65536|70000|-1|+3000|03000|3000.0|3e3|0xBB8|3000,3001|3000, 3001|3000 3001|3000@evil.example|3000/../x|3000%20|evil.example|localhost:3000|3000#|99999999999999999999".split(
      "|",
    ),
  )("%s is no port", async (port) => {
    expectProblem(await ask(port), "bad_proxy_port");
  });

  test("an empty header is none", async () => {
    expect((await ask("", "/v1/health")).status).toBe(200);
  });

  test("a second header changes nothing", async () => {
    const answer = await sendRaw(
      sandbox(),
      `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Turnd-Token: ${TOKEN}\r\nX-Aio-Proxy-Port: 3000\r\nX-Aio-Proxy-Port: 8091\r\n\r\n`,
    );
    expect(answer).not.toContain("turnd");
    expect(answer).toMatch(/^HTTP\/1.1 (200|400)/);
  });

  test("a name that could have been made to lead here is refused, an address or a local name is not", async () => {
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8080"]) {
      expect(await sendRaw(sandbox(), request(host))).toMatch(/^HTTP\/1.1 403 [^]*"forbidden_origin"/);
    }
    for (const host of [
      "10.1.2.3:8080",
      "sandbox:8080",
      "turnd.team.svc",
      "sandbox.local",
      "LOCALHOST",
      "[::1]:8080",
    ]) {
      expect(await sendRaw(sandbox(), request(host))).toMatch(/^HTTP\/1.1 200/);
    }
    function request(host: string): string {
      return `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Aio-Proxy-Port: 3000\r\nX-Turnd-Token: ${TOKEN}\r\nConnection: close\r\n\r\n`;
    }
  });

  test("no server answers the preflight without which no page can send it", async () => {
    const headers = {
      origin: "http://evil.example",
      "access-control-request-method": "GET",
      "access-control-request-headers": "x-aio-proxy-port",
    };
    for (const path of ["/", "/v1/turns", "/terminal"]) {
      const answer = await sandbox().request("OPTIONS", path, undefined, headers);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });

  test("a body larger than turnd takes goes through", async () => {
    const body = "x".repeat(30_000_000);
    const answer = await sandbox().request("POST", "/", body, { "x-aio-proxy-port": "3000" });
    expect(JSON.parse(answer.text)).toMatchObject({ method: "POST", bytes: body.length });
  });

  test("a WebSocket goes through", async () => {
    const socket = new WebSocket(`${sandbox().url.replace("http", "ws")}/ws`, {
      headers: { "x-aio-proxy-port": "3000", "x-turnd-token": TOKEN },
    });
    const [data] = await once(socket, "message");
    expect(String(data)).toBe("hello");
    socket.terminate();
  });

  test("a program cannot have the front answer in its place, or slow it down", async () => {
    for (const target of ["/v1/health", "/nothing", "/.proxy", "/.refused/not-http", "@no_answer"]) {
      const { status, headers, text: answered } = await ask("3000", `/accel?${encodeURIComponent(target)}`);
      expect([target, status, answered]).toEqual([target, 200, "its own".repeat(1000)]);
      expect(headers.get("content-type")).toBe("text/plain");
      expect([...headers.keys()].filter((name) => name.startsWith("x-accel"))).toEqual([]);
    }
  });

  test("a program that breaks off is a problem; a redirect to itself stays behind the front", async () => {
    expectProblem(await ask("3000", "/break"), "upstream_unreachable");
    const redirected = await fetch(`${sandbox().url}/redirect`, {
      headers: { "x-aio-proxy-port": "3000", "x-turnd-token": TOKEN },
      redirect: "manual",
    });
    expect(redirected.headers.get("location")).toBe("/there");
  });
});

describeImage("the port header that asks for no token", () => {
  const sandbox = shareSandbox(() => ({ env: { TURND_PROXY_ACCESS: "open" } }));
  const open = shareSandbox(() => ({ env: { TURND_TOKEN: "" } }));

  test("is open to every caller, and passes what they send: because it is set so, or because there is no token", async () => {
    for (const started of [sandbox(), open()]) {
      await startProgram(started, 3000);
      const headers = { "x-aio-proxy-port": "3000", authorization: "Basic b3BlbmNvZGU6eA==" };
      const answer = await fetch(`${started.url}/config`, { headers });
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { headers: { authorization: headers.authorization } },
      ]);
    }
  });
});

describeImage("the port header with an allow-list", () => {
  const sandbox = shareSandbox(() => ({ env: { TURND_PROXY_PORTS: "3000, 4096", TURND_HOSTS: "sandbox.example" } }));

  test("offers these ports and no other", async () => {
    const ask = (port: string) => sandbox().request("GET", "/", undefined, { "x-aio-proxy-port": port });
    expectProblem(await ask("3000"), "upstream_unreachable");
    expectProblem(await ask("4096"), "upstream_unreachable");
    for (const port of ["3001", "8091", "80"]) expectProblem(await ask(port), "proxy_port_forbidden");
    expectProblem(await ask("03000"), "bad_proxy_port");
  });

  test("turnd is asked by any name and address with a token, as kubelets do, whatever TURND_HOSTS is", async () => {
    for (const host of ["10.1.2.3:8080", "sandbox.example", "other.example:8080"]) {
      const answer = await sendRaw(sandbox(), `GET /v1/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([host, answer.slice(9, 12)]).toEqual([host, "200"]);
    }
    const target = "GET / HTTP/1.1\r\nHost: other.example\r\nX-Aio-Proxy-Port: 3000\r\nConnection: close\r\n";
    expect(await sendRaw(sandbox(), `${target}\r\n`)).toMatch(/^HTTP\/1.1 403/);
  });

  test("names in TURND_HOSTS may be asked", async () => {
    const target = "GET /none HTTP/1.1\r\nHost: sandbox.example:8080\r\nConnection: close\r\n";
    expect(await sendRaw(sandbox(), `${target}X-Aio-Proxy-Port: 3000\r\nX-Turnd-Token: ${TOKEN}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 502/,
    );
    expect(await sendRaw(sandbox(), `${target}\r\n`)).toMatch(/^HTTP\/1.1 404/);
  });
});
