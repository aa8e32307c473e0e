import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM } from "../harness/browser.ts";
import { openInspector } from "../harness/inspector-page.ts";
import { describeImage, shareSandbox, TOKEN } from "../harness/sandbox.ts";
import { showsIn } from "../harness/terminal-page.ts";

/** A recording whose last lines came six seconds after its first. */
function slowRecording(): object {
  const lines = [
    { type: "thread.started", thread_id: "01a1fd18-d697-76b1-820a-00002ff5dd89" },
    { type: "item.completed", item: { id: "item_0", type: "agent_message", text: "the first word" } },
    { type: "item.completed", item: { id: "item_1", type: "agent_message", text: "the last word" } },
    { type: "turn.completed", usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } },
  ];
  const at = (index: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, index > 1 ? 6 : 0)).toISOString();
  return {
    v: 1,
    turn: { executor: "cli-b" },
    exit: { code: 0, signal: null },
    input: "say two words",
    stdout: lines.map((line) => `${JSON.stringify(line)}\n`),
    stderr: [],
    timeline: lines.map((_, index) => ({ type: "line", at: at(index), line: index + 1 })),
  };
}

describeImage("the inspector behind the front", { timeout: 300_000 }, () => {
  const sandbox = shareSandbox();

  describe.skipIf(!HAS_CHROMIUM)("in a browser", () => {
    test("is at /, shows events as they come, and its login opens the terminal too", async () => {
      const { page, picture, close } = await openInspector(`${sandbox().url}/`);
      onTestFinished(close);
      await page.locator("#token").fill(TOKEN);
      await page.keyboard.press("Enter");
      await page.getByText("No turn yet.").waitFor();
      const { body } = await sandbox().request("POST", "/v1/replays", { recording: slowRecording(), speed: 1 });
      await page.locator(".turn-link", { hasText: "say two words" }).click();
      await page.locator(".event", { hasText: "the first word" }).waitFor();
      // Nothing in the front waits for more.
      expect(await page.locator(".event", { hasText: "the last word" }).count()).toBe(0);
      await page.locator(".event", { hasText: "the last word" }).waitFor();
      await page.getByText("complete history").waitFor();
      await picture("image-inspector");

      const [tab] = await Promise.all([
        page.context().waitForEvent("page"),
        page.getByRole("button", { name: "Terminal", exact: true }).click(),
      ]);
      // The engine publishes the front at another port than it has inside, so the page is opened at that one.
      await tab.waitForURL(/\/terminal|^chrome-error/, { waitUntil: "commit" }).catch(() => undefined);
      await tab.goto(`${sandbox().url}/terminal?session_id=${body.session_id}`);
      await showsIn(tab, /\$/);
      expect(await tab.locator("#ask").isVisible()).toBe(false);
      expect(await sandbox().log()).not.toContain("login=");
    });
  });
});
