import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { Problem, PROBLEM_STATUS } from "../../src/turnd/protocol/index.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const CONF = readFileSync(join(REPOSITORY, "sandbox/nginx.conf"), "utf8");

test("every refusal of the front is a problem of the API, with its status", () => {
  const refusals = [...CONF.matchAll(/return (\d+) '([^']+)';/g)].map(([, status, body]) => ({
    status: Number(status),
    code: Problem.parse(JSON.parse(body ?? "")).detail.code,
  }));
  expect(refusals.length).toBeGreaterThan(10);
  // What is not HTTP keeps the status HTTP has for it, as in turnd.
  const others = refusals.filter(({ status, code }) => PROBLEM_STATUS[code] !== status);
  expect(others).toEqual([400, 414, 431].map((status) => ({ status, code: "invalid_request" })));
});

async function renderFront(
  env: Record<string, string>,
): Promise<{ ports: string; hosts: string; limits: string; cors: string }> {
  const directory = temporaryDirectory(onTestFinished);
  await execa(join(REPOSITORY, "sandbox/render-front"), [directory], { env });
  const read = (name: string): string => readFileSync(join(directory, `${name}.conf`), "utf8");
  return { ports: read("proxy-ports"), hosts: read("hosts"), limits: read("limits"), cors: read("cors-origins") };
}

test("ports, hosts and the largest body are taken from the environment", async () => {
  const rendered = await renderFront({
    TURND_PROXY_PORTS: "4096, 3000",
    TURND_HOSTS: "a.example *",
    TURND_MAX_BODY_BYTES: "7",
  });
  expect(rendered.ports).toMatch(/^3000 open;\n4096 open;\n8080 forbidden;/);
  expect(rendered.hosts).toContain('"a.example" 0;');
  expect(rendered.hosts).toContain('"~." 0;');
  expect(rendered.limits).toContain("client_max_body_size 7;");
  expect((await renderFront({ TURND_PROXY_PORTS: "none" })).ports).not.toContain("open");
});

test("the front's port is a setting, and is none that others may be reached by", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const render = (port: string) =>
    execa(join(REPOSITORY, "sandbox/render-front"), [directory], { env: { SANDBOX_PORT: port }, reject: false });
  expect((await render("9090")).exitCode).toBe(0);
  expect(readFileSync(join(directory, "listen.conf"), "utf8")).toMatch(/^listen 9090;\n/);
  expect(readFileSync(join(directory, "proxy-ports.conf"), "utf8")).toMatch(/^9090 forbidden;\n8091 forbidden;$/m);
  for (const port of ["80", "8091", "6080", "65536", "09090", "abc", "-1"]) {
    const refused = await render(port);
    expect([port, refused.exitCode]).toEqual([port, 1]);
    expect(refused.stderr).toContain(`SANDBOX_PORT is "${port}"`);
  }
});

test("origins are compared as turnd compares them: as browsers write them, in full, and in their case", async () => {
  const { cors } = await renderFront({ TURND_CORS_ORIGINS: "https://App.example:443/, http://[::1]:5173" });
  expect(cors).toBe(
    'default "";\n"~^http://\\[::1\\]:5173$" $http_origin;\n"~^https://app\\.example$" $http_origin;\n',
  );
  expect((await renderFront({})).cors).toBe('default "";\n');
});

test("the front lets pages read and send what turnd lets them", () => {
  const turnd = readFileSync(join(REPOSITORY, "src/turnd/daemon/http/cors.ts"), "utf8");
  const listed = (name: string): string[] =>
    [...(new RegExp(`const ${name} = \\[([^]*?)\\]`).exec(turnd)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(
      ([, each]) => each ?? "",
    );
  expect(CONF).toContain(`Access-Control-Allow-Headers "${listed("REQUEST_HEADERS").join(", ")}"`);
  expect(CONF).toContain(`default "${listed("ANSWER_HEADERS").join(", ")}";`);
  expect(listed("REQUEST_HEADERS").length).toBeGreaterThan(5);
});

test.each([
  ["TURND_CORS_ORIGINS", "*"],
  ["TURND_CORS_ORIGINS", "app.example"],
  ["TURND_CORS_ORIGINS", 'https://x"; } evil'],
  ["TURND_PROXY_PORTS", "80"],
  ["TURND_PROXY_PORTS", "3000,65536"],
  ["TURND_PROXY_PORTS", "03000"],
  ["TURND_PROXY_PORTS", "3000;8091 open"],
  ["TURND_PROXY_PORTS", "8091"],
  ["TURND_HOSTS", 'x" 0; "~." 0; #'],
  ["TURND_MAX_BODY_BYTES", "1m"],
  ["TURND_PROXY_ACCESS", "yes"],
])("%s=%s is refused by name", async (name, value) => {
  await expect(renderFront({ [name]: value })).rejects.toThrow(name);
});
