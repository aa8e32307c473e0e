import { expect, onTestFinished, test } from "vitest";
import { readBrowserFiles } from "../../../../src/service/http/pages/browser-files.ts";
import { HAS_CHROMIUM, visit } from "../../../harness/browser.ts";
import { call, testApp } from "../../harness/app.ts";
import { PASSWORD } from "../../harness/auth.ts";
import { openBrowser, picture } from "../../harness/browser.ts";
import { freshStorage } from "../../harness/storage.ts";

async function startApp() {
  const app = await testApp(await freshStorage("postgres"));
  onTestFinished(() => app.close());
  const base = await app.listen({ host: "127.0.0.1", port: 0 });
  await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const start = async () =>
    (await call(app, "POST", "/api/auth/cli/sessions", { client_name: "svc <b>on</b> laptop" })).body;
  const exchange = (device_code: string) => call(app, "POST", "/api/auth/cli/sessions/token", { device_code });
  return { app, base, start, exchange };
}

test("the pages let nothing of elsewhere in, and no other page frame them", async () => {
  const { app } = await startApp();
  const pages = ["/cli", "/cli/", "/cli?code=ABCD-EFGH", "/cli/page.js", "/cli/page.css"];
  const programs = (await readBrowserFiles()).map(({ path }) => path);
  expect(programs.length).toBeGreaterThan(10);
  for (const path of new Set([...pages, "/kb", "/kb/", "/kb/page.js", "/kb/page.css", ...programs])) {
    const { statusCode, headers, body } = await app.inject({ url: path });
    expect([path, statusCode]).toEqual([path, 200]);
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
    );
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers).toMatchObject({
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    expect(headers["set-cookie"]).toBeUndefined();
    if (/\.(js|css)$/.test(path)) continue;
    expect(body).not.toMatch(/<script>|<script [^>]*>[^<]|style=|onclick|https?:/);
  }
  const index = await app.inject({ url: "/", headers: { accept: "application/json" } });
  expect(index.json()).toMatchObject({ name: "svc", docs: "/docs", openapi: "/openapi.json" });
  const browser = await app.inject({ url: "/", headers: { accept: "text/html,application/xhtml+xml" } });
  expect([browser.statusCode, browser.headers.location]).toEqual([302, "/kb"]);
  for (const path of Object.values(index.json()).filter((each) => String(each).startsWith("/")))
    expect([path, (await app.inject({ url: String(path) })).statusCode]).toEqual([path, 200]);
});

test.runIf(HAS_CHROMIUM)(
  "a person approves a login by keyboard alone, on a phone, and the client gets its key",
  async () => {
    const { base, start, exchange } = await startApp();
    const started = await start();
    const page = await openBrowser(base);
    await visit(page, `${base}/cli?code=${started.user_code}`);
    expect(await page.evaluate("document.activeElement.id")).toBe("username");
    await page.keyboard.type("root");
    await page.keyboard.press("Tab");
    await page.keyboard.type("wrong password");
    await page.keyboard.press("Enter");
    await page.getByText("the username or the password is wrong").waitFor();
    await picture(page, "cli-wrong-password");
    await page.locator("#password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.locator("#decide").waitFor();
    expect(await page.locator("#client").innerText()).toBe("svc <b>on</b> laptop");
    expect(await page.locator("#shown-code").innerText()).toBe(started.user_code);
    expect(await page.evaluate("document.activeElement.id")).toBe("approve");
    expect(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")).toBe(true);
    await picture(page, "cli-decide");
    expect((await exchange(started.device_code)).body.detail.code).toBe("authorization_pending");
    await page.keyboard.press("Enter");
    await page.getByText("Approved.").waitFor();
    await picture(page, "cli-approved");
    expect((await exchange(started.device_code)).body.secret).toMatch(/^svkey_/);
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([0, 0, ""]);
  },
);

test.runIf(HAS_CHROMIUM)("a person denies a login whose code was typed, and a wrong code is shown", async () => {
  const { base, start, exchange } = await startApp();
  const started = await start();
  const page = await openBrowser(base);
  await visit(page, `${base}/cli`);
  await page.locator("#username").fill("root");
  await page.locator("#password").fill(PASSWORD);
  await page.keyboard.press("Enter");
  await page.locator("#find").waitFor();
  await page.keyboard.type("ABCD-EFGH");
  await page.keyboard.press("Enter");
  await page.getByText("there is no login with this code").waitFor();
  await page.locator("#code").fill(started.user_code.toLowerCase());
  await page.keyboard.press("Enter");
  await page.locator("#decide").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText("Denied.").waitFor();
  expect((await exchange(started.device_code)).body.detail.code).toBe("access_denied");
});

test.runIf(HAS_CHROMIUM)("/docs shows the routes without asking any other server", async () => {
  const { base } = await startApp();
  const page = await openBrowser(base);
  await visit(page, `${base}/docs`);
  await page.getByText("Submit a run").first().waitFor({ timeout: 60_000 });
  await picture(page, "docs");
});
