import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { startStandingService, type StandingService } from "../harness/standing-service.ts";
import { createSvcCli, waitForStderr } from "../harness/svc-cli.ts";

let service: StandingService;
beforeAll(async () => {
  service = await startStandingService();
});

test("a key from stdin is checked, and kept where its owner alone can read it", async () => {
  const svc = createSvcCli();
  const file = join(svc.home, ".config/svc/config.toml");
  const wrong = await svc.run(["login", "--url", service.url, "--api-key-stdin"], { input: "svkey_0000000000\n" });
  expect(wrong).toMatchObject({ code: 3, stdout: "" });
  expect(wrong.stderr).toMatch(/^svc: .* \(unauthorized\)\n$/);
  expect(() => statSync(file)).toThrow("ENOENT");

  const key = await service.key();
  const done = await svc.run(["login", "--url", service.url, "--api-key-stdin", "--json"], { input: `${key}\n` });
  expect(done).toMatchObject({ code: 0, stderr: "", json: { remote: "default", user: { username: "root" } } });
  expect(done.stdout).not.toContain(key);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(svc.home, ".config/svc")).mode & 0o777).toBe(0o700);
  expect((await svc.run(["whoami"])).stdout).toContain("root (superadmin)");

  // A key stored for one address is not sent to another.
  const elsewhere = await svc.run(["whoami"], { env: { SVC_URL: "http://127.0.0.1:9" } });
  expect(elsewhere).toMatchObject({ code: 3, stderr: expect.stringContaining("(not_logged_in)") });
  expect((await svc.run(["whoami"], { env: { SVC_URL: `${service.url}/` } })).code).toBe(0);
  expect((await svc.run(["whoami"], { env: { SVC_API_KEY: "svkey_wrong" } })).code).toBe(3);
  expect((await svc.run(["whoami"], { env: { SVC_API_KEY: "two\nlines" } })).code).toBe(2);

  chmodSync(file, 0o640);
  expect(await svc.run(["whoami"])).toMatchObject({ code: 2, stderr: expect.stringContaining("(config_unsafe)") });
  chmodSync(file, 0o600);
  expect((await svc.run(["remote", "list"])).stdout).not.toContain(key);
  // A key that was given is not this login's to revoke.
  expect((await svc.run(["logout", "--json"])).json).toMatchObject({ revoked: false });
  expect(await svc.run(["whoami"])).toMatchObject({ code: 3 });
  expect((await service.call("GET", "/api/auth/me", undefined, { authorization: `Bearer ${key}` })).status).toBe(200);
});

test("a person approves a login in a browser; logout revokes the key it made", async () => {
  const svc = createSvcCli();
  const login = svc.start(["login", "--url", service.url, "--no-browser", "--remote", "work"]);
  const [, code = ""] = await waitForStderr(login, /([A-Z2-9]{4}-[A-Z2-9]{4})/);
  expect(login.stderr()).toMatch(/http:\/\/(localhost|127\.0\.0\.1):\d+\/cli\?code=/);
  expect((await service.call("POST", `/api/auth/cli/sessions/${code}/approve`)).status).toBe(200);
  expect(await login.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("as root (superadmin)") });
  const config = readFileSync(join(svc.home, ".config/svc/config.toml"), "utf8");
  expect(config).toContain('current = "work"');
  const [, key = ""] = /api_key = "([^"]+)"/.exec(config) ?? [];
  expect(config).toMatch(/api_key_id = \d+/);
  expect(login.stderr()).not.toContain(key);

  expect((await svc.run(["remote", "use", "other"])).code).toBe(2);
  expect((await svc.run(["logout", "--json"])).json).toMatchObject({ remote: "work", revoked: true });
  expect((await service.call("GET", "/api/auth/me", undefined, { authorization: `Bearer ${key}` })).status).toBe(401);
});

test("a login that is denied stores nothing", async () => {
  const svc = createSvcCli();
  const login = svc.start(["login", "--url", service.url, "--no-browser", "--json"]);
  const [, code = ""] = await waitForStderr(login, /([A-Z2-9]{4}-[A-Z2-9]{4})/);
  await service.call("POST", `/api/auth/cli/sessions/${code}/deny`);
  expect(await login.ended).toMatchObject({ code: 3, json: { error: { code: "access_denied", status: 400 } } });
  expect((await svc.run(["whoami"])).code).toBe(3);
});

test("an address that would get the key unencrypted, and one that does not answer", async () => {
  const svc = createSvcCli();
  const plain = await svc.run(["login", "--url", "http://svc.example.test", "--api-key-stdin"], { input: "svkey_x" });
  expect(plain).toMatchObject({ code: 2, stderr: expect.stringContaining("(insecure_url)") });
  const env = { SVC_URL: "http://127.0.0.1:9", SVC_API_KEY: "svkey_x" };
  const unanswered = await svc.run(["whoami", "--json"], { env });
  expect(unanswered).toMatchObject({ code: 6, json: { error: { code: "unreachable", status: null } } });
  expect((await svc.run(["login", "--url", "ftp://x"])).code).toBe(2);
});
