import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM } from "../harness/browser.ts";
import { openInspector } from "../harness/inspector-page.ts";
import { PINNED_CLIS, shareStage } from "../harness/real-daemon.ts";

describe.skipIf(!HAS_CHROMIUM).each(PINNED_CLIS)("$executor $version in the inspector", (cli) => {
  const stage = shareStage(cli);

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
    await page.keyboard.press("3");
    await page.locator("tr.won", { hasText: "completed" }).waitFor();
  });
});
