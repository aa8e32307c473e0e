import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM } from "../../harness/browser.ts";
import { logIn, shareInspector, show, TOKEN } from "../../harness/inspector-stage.ts";

describe.skipIf(!HAS_CHROMIUM)("what turnd refuses", { timeout: 180_000 }, () => {
  const stage = shareInspector({ TURND_MAX_TURNS: "1", TURND_MAX_QUEUED: "1" });

  test("is said at once and stays to be read, and what was typed is kept", async () => {
    const { page, picture } = await stage().open();
    await logIn(page);
    const running = await stage().admit({ input: "hang" });
    const queued = await stage().admit({ input: "hang" });
    onTestFinished(async () => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      for (const id of [queued, running])
        await stage().turnd.request("POST", `/v1/turns/${id}/cancel`, undefined, headers);
    });
    const sent: string[] = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
    await show(page, running);
    await page.locator(".event").first().waitFor();
    await page.locator("#composer").fill("another");
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    const notice = page.getByRole("status").filter({ hasText: "TURND_MAX_QUEUED" });
    await notice.waitFor();
    await picture("inspector-refused");
    // The page does not try again for its reader.
    expect(sent).toHaveLength(1);
    expect(await page.locator("#composer").inputValue()).toBe("another");
    const bottom = ({ y = 0, height = 0 } = {}): number => y + height;
    const top = (await page.locator("#composer").boundingBox())?.y ?? 0;
    expect(bottom((await page.locator(".notice").boundingBox()) ?? undefined)).toBeLessThanOrEqual(top);
    await page.getByRole("button", { name: "Close the notice" }).click();
    await notice.waitFor({ state: "detached" });

    await page.keyboard.press("n");
    await page.locator("#new-input").fill("one more");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("dialog").getByRole("alert").getByText("TURND_MAX_QUEUED").waitFor();
    expect(sent).toHaveLength(2);
    expect(await page.locator("#new-input").inputValue()).toBe("one more");
    await page.keyboard.press("Escape");

    await show(page, queued);
    await page.locator(".turn-header .status.queued").waitFor();
    await page.keyboard.press("c");
    await page.keyboard.press("Enter");
    await page.locator(".turn-header .status.cancelled").waitFor();
  });
});
