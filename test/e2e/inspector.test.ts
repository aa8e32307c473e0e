import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM } from "../harness/browser.ts";
import { openInspector } from "../harness/inspector-page.ts";
import { LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";

describe.skipIf(!HAS_CHROMIUM).each(LIGHT_CLIS)("$executor $version in the inspector", (cli) => {
  const stage = shareStage(cli, { env: { TURND_STEER_WAIT_MS: "500" } });

  test("a turn is started by hand, seen to its end, and its raw output stands beside its events", async () => {
    const { turnd } = stage();
    const { page, picture, close } = await openInspector(turnd.url);
    onTestFinished(close);
    await page.locator("#new-turn").click();
    await page.locator("#new-executor").selectOption(cli.executor);
    await page.locator("#new-input").fill("Create hello.sh, run it, tell me what it printed.");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator(".turn-header .status.completed").waitFor({ timeout: 90_000 });
    await page.getByText("complete history").waitFor();
    await page.locator(".event.speech").first().waitFor();
    expect(await page.locator(".event.tool").count()).toBeGreaterThan(0);
    await picture(`inspector-real-${cli.executor}`);
    await page.keyboard.press("2");
    await page.locator(".record", { hasText: '"type"' }).first().waitFor();
    expect(await page.locator(".record .mapped").count()).toBeGreaterThan(0);
    expect(await page.evaluate(STRANGE)).toEqual([]);
    await page.keyboard.press("3");
    await page.locator("summary", { hasText: "rules that were tried" }).click();
    await page.locator("tr.won", { hasText: "completed" }).waitFor();
  });

  test("a turn is steered and cancelled by hand, and what the provider refused is explained", async () => {
    const { turnd } = stage();
    const { page, picture, close } = await openInspector(turnd.url);
    onTestFinished(close);
    const start = async (prompt: string): Promise<void> => {
      await page.locator("#new-turn").click();
      await page.locator("#new-executor").selectOption(cli.executor);
      await page.locator("#new-input").fill(prompt);
      await page.keyboard.press("Control+Enter");
      await page.getByRole("dialog").waitFor({ state: "detached", timeout: 90_000 });
    };
    await start("@@sleep:300@@");
    await page.locator(".turn-header .status.running").waitFor();
    await expect.poll(() => turnd.request("GET", "/v1/turns").then(({ text }) => text)).toContain("running");
    const first = page.url();
    await page.locator("#composer").fill("@@sleep:300@@");
    await page.getByRole("button", { name: "Steer", exact: true }).click();
    await expect.poll(() => page.url(), { timeout: 60_000 }).not.toBe(first);
    await page.locator(".event", { hasText: "Started" }).waitFor({ timeout: 90_000 });
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.locator(".turn-header .status.cancelled").waitFor({ timeout: 90_000 });

    await start("@@status:401@@");
    await page.locator(".turn-header .pill.bad", { hasText: "auth_failed" }).waitFor({ timeout: 90_000 });
    await page.keyboard.press("3");
    await page.locator("summary", { hasText: "rules that were tried" }).click();
    await page.locator("tr.won", { hasText: "auth_failed" }).waitFor();
    await picture(`inspector-refused-${cli.executor}`);
    // The line that decided it, or where else it was said.
    expect(await page.locator(".evidence").first().innerText()).toMatch(/401|nauthori[sz]ed|key/);
  });
});

/** Events that stand beside another line than the one they name. */
const STRANGE = `[...document.querySelectorAll(".record")].flatMap((record) => {
  const line = Number(record.querySelector(".line-number").textContent);
  const events = [...record.querySelectorAll(".mapped pre")].map(({ textContent }) => JSON.parse(textContent));
  return events.filter(({ native }) => native.line !== line);
})`;
