import { describe, expect, test } from "vitest";
import { HAS_CHROMIUM } from "../../harness/browser.ts";
import { logIn, shareInspector, show } from "../../harness/inspector-stage.ts";

describe.skipIf(!HAS_CHROMIUM)("the address of the inspector", { timeout: 180_000 }, () => {
  const stage = shareInspector();

  test("leads to an event of a turn, and keeps the place over a reload, back and forward", async () => {
    const turnId = await stage().run({ input: "burst 3000" });
    const { page } = await stage().open();
    await logIn(page);
    await show(page, turnId, "/events/1502");
    const focused = page.locator(".event:focus");
    await focused.filter({ hasText: "line 1500 of 3000" }).waitFor();
    // However the events come: in one piece or in many.
    for (let times = 0; times < 6; times += 1) {
      await page.evaluate(`location.hash = "#/"`);
      await page.locator(".nothing").waitFor();
      await show(page, turnId, "/events/1502");
      await focused.filter({ hasText: "line 1500 of 3000" }).waitFor();
    }
    await page.keyboard.press("j");
    await focused.filter({ hasText: "line 1501 of 3000" }).waitFor();
    await expect.poll(() => page.url()).toMatch(new RegExp(`#/turns/${turnId}/events/1503$`));
    await page.reload();
    await focused.filter({ hasText: "line 1501 of 3000" }).waitFor();

    await page.keyboard.press("2");
    await page.locator(".record").first().waitFor();
    await page.goBack();
    await focused.filter({ hasText: "line 1501 of 3000" }).waitFor();
    await page.goForward();
    await page.locator(".record").first().waitFor();
    await page.goBack();
    await focused.filter({ hasText: "line 1501 of 3000" }).waitFor();
    await page.goBack();
    await page.locator(".nothing").waitFor();
    await page.goForward();
    await focused.filter({ hasText: "line 1501 of 3000" }).waitFor();

    // The first line made no event that is shown; the row before the place is.
    await show(page, turnId, "/events/999999");
    await page.getByText("complete history").waitFor();
    await show(page, turnId, "/raw/7");
    await page.locator(".record.marked", { hasText: "line 5 of 3000" }).waitFor();
    await page.locator(".record", { hasText: "line 9 of 3000" }).first().click();
    await expect.poll(() => page.url()).toMatch(/\/raw\/11$/);
    await page.reload();
    await page.locator(".record.marked", { hasText: "line 9 of 3000" }).waitFor();
  });

  test("leads to an event of a turn that runs, as soon as it has come, and to nothing where it is broken", async () => {
    const turnId = await stage().admit({ input: "paced 12 0.3\nhang" });
    const { page } = await stage().open();
    await logIn(page);
    await show(page, turnId, "/events/12");
    await page.locator(".event:focus", { hasText: "paced 10" }).waitFor();
    await page.getByRole("button", { name: "Follow" }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.locator(".turn-header .status.cancelled").waitFor();
    await page.evaluate(`location.hash = "#/turns/%E0%A4%A"`);
    await page.getByRole("alert").filter({ hasText: "turn" }).first().waitFor();
    await page.getByRole("link", { name: "All turns" }).click();
    await page.locator(".nothing").waitFor();
    expect(page.url()).toMatch(/#\/$/);
  });
});
