import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM, visit } from "../../harness/browser.ts";
import { logIn, shareInspector, show, TOKEN } from "../../harness/inspector-stage.ts";

/** More than a browser has connections to a host. */
const TABS = 8;

describe.skipIf(!HAS_CHROMIUM)("the inspector in several tabs", { timeout: 180_000 }, () => {
  const stage = shareInspector({ TURND_MAX_TURNS: String(TABS) });
  const cancel = (turnId: string): Promise<unknown> =>
    stage().turnd.request("POST", `/v1/turns/${turnId}/cancel`, undefined, { authorization: `Bearer ${TOKEN}` });

  test("follows a running turn in each of eight, and each can cancel its own", async () => {
    const { page } = await stage().open();
    await logIn(page);
    const tabs: Page[] = [];
    for (let index = 0; index < TABS; index += 1) {
      const turnId = await stage().admit({ input: `paced 100000 0.2` });
      onTestFinished(async () => void (await cancel(turnId)));
      const tab = index === 0 ? page : await page.context().newPage();
      tabs.push(tab);
      if (tab !== page) await visit(tab, stage().turnd.url);
      await show(tab, turnId);
      await tab.locator(".event", { hasText: "paced 2" }).first().waitFor();
    }
    for (const tab of tabs.toReversed()) {
      await tab.getByRole("button", { name: "Cancel", exact: true }).click();
      await tab.locator(".turn-header .status.cancelled").waitFor();
      await tab.getByText("complete history").waitFor();
    }
    // A place that was taken is given back.
    const places = `Object.keys(localStorage).filter((key) => key.startsWith("turnd.stream."))`;
    await expect.poll(() => page.evaluate(places)).toEqual([]);
  });

  test("reads nothing in a tab that is not seen, counts there what runs, and goes on when it is seen", async () => {
    const { page } = await stage().open();
    await logIn(page);
    const turnId = await stage().admit({ input: "paced 40 0.1" });
    await show(page, turnId);
    await page.locator(".event", { hasText: "paced 2" }).first().waitFor();
    await hide(page, true);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const other = await stage().admit({ input: "hang" });
    onTestFinished(async () => void (await cancel(other)));
    await expect.poll(() => page.title(), { timeout: 60_000 }).toMatch(/^\(\d\) /);
    await expect.poll(() => page.title(), { timeout: 60_000 }).toMatch(/^\(1\) /);
    expect(asked.filter((path) => path.endsWith("/events"))).toEqual([]);
    expect(await page.locator(".event", { hasText: "paced 40" }).count()).toBe(0);
    await hide(page, false);
    await page.locator(".turn-header .status.completed").waitFor();
    await page.getByText("complete history").waitFor();
  });
});

/** As a browser does to the page of a tab that another one covers. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`);
}
