import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Problem, PROBLEM_STATUS } from "../../src/protocol/index.ts";
import type { Answer } from "../harness/client.ts";
import { describeImage, KEY, shareSandbox, startModel, TOKEN, type Sandbox } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";

/** A program of the sandbox: tells what it is asked, echoes over a WebSocket, and breaks off where the path says so. */
const PROGRAM = `
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
const server = createServer((request, response) => {
  if (request.url === "/break") return request.socket.destroy();
  if (request.url.startsWith("/accel?")) {
    const accel = { "x-accel-redirect": decodeURIComponent(request.url.slice(7)), "x-accel-limit-rate": "1", "x-accel-charset": "koi8-r", "x-accel-expires": "9", "x-accel-buffering": "yes" };
    return response.writeHead(200, { ...accel, "content-type": "text/plain" }).end("its own".repeat(1000));
  }
  if (request.url === "/redirect") return response.writeHead(302, { location: "http://" + request.headers.host + "/there" }).end();
  let bytes = 0;
  request.on("data", (chunk) => (bytes += chunk.length));
  request.on("end", () => response.end(JSON.stringify({ url: request.url, method: request.method, headers: request.headers, bytes })));
});
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  socket.write(Buffer.from([0x81, 5, ...Buffer.from("hello")]));
});
server.listen(Number(process.argv[1]), "127.0.0.1");
`;

/** Starts the program as the CLIs' user and waits until it answers. */
async function startProgram(sandbox: Sandbox, port: number): Promise<void> {
  await sandbox.exec(["sh", "-c", `node -e '${PROGRAM}' ${port} >/dev/null 2>&1 &`], "1000");
  await waitFor(`port ${port}`, async () => (await sandbox.exec(["curl", "-sf", `localhost:${port}`])).exitCode === 0);
}

function expectProblem(answer: Answer, code: Problem["detail"]["code"]): void {
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  expect(Problem.parse(answer.body).detail.code).toBe(code);
  expect(answer.status).toBe(PROBLEM_STATUS[code]);
}

/** Sends bytes and gives back all that comes until the connection is closed. */
async function sendRaw({ url }: Sandbox, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(bytes);
  return text(socket);
}

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

  test.each(["1024", "65535", "4096"])("%s is a port, on which nobody listens", async (port) => {
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

  test("nobody answers the preflight without which no page can send it", async () => {
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

  test("a program that breaks off is told as a problem; a redirect to itself stays behind the front", async () => {
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

  test("turnd is asked by any name and address with a token, as kubelets do, whatever TURND_HOSTS says", async () => {
    for (const host of ["10.1.2.3:8080", "sandbox.example", "other.example:8080"]) {
      const answer = await sendRaw(sandbox(), `GET /v1/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([host, answer.slice(9, 12)]).toEqual([host, "200"]);
    }
    const target = "GET / HTTP/1.1\r\nHost: other.example\r\nX-Aio-Proxy-Port: 3000\r\nConnection: close\r\n";
    expect(await sendRaw(sandbox(), `${target}\r\n`)).toMatch(/^HTTP\/1.1 403/);
  });

  test("names in TURND_HOSTS may be asked", async () => {
    const target = "GET / HTTP/1.1\r\nHost: sandbox.example:8080\r\nConnection: close\r\n";
    expect(await sendRaw(sandbox(), `${target}X-Aio-Proxy-Port: 3000\r\nX-Turnd-Token: ${TOKEN}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 502/,
    );
    expect(await sendRaw(sandbox(), `${target}\r\n`)).toMatch(/^HTTP\/1.1 404/);
  });
});

describeImage("the front", () => {
  let model: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    model = await startModel();
  });
  afterAll(() => model.model.close());
  const sandbox = shareSandbox(() => ({ env: { TURND_MAX_BODY_BYTES: "100000", ...model.env } }));

  test("an unknown path is a problem", async () => {
    for (const path of ["/", "/v2", "/v1x", "/terminals", "/.proxy", "/metrics/x"]) {
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
      // The first event's turn goes on until somebody cancels it, so that it arrives is the proof.
      if (frame.event === "tool.started") await sandbox().request("POST", `/v1/turns/${turn_id}/cancel`);
      if (frame.event === "end") expect(JSON.parse(frame.data)).toMatchObject({ data: { status: "cancelled" } });
    }
    expect(seen).toBeGreaterThan(3);
  });

  test("turnd's being away is told as such, with when to try again", async () => {
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
