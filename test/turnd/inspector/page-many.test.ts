import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM } from "../../harness/browser.ts";
import { fakeDaemonIn } from "../../harness/fake-daemon.ts";
import { openInspector } from "../../harness/inspector-page.ts";
import { plantTurns } from "../../harness/many-turns.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

const SESSIONS = 90;
const TURNS_PER_SESSION = 5;
const COUNT = SESSIONS * TURNS_PER_SESSION;

/** The inspector of a turnd with many ended turns: the oldest has failed, and the youngest is of the oldest session. */
async function openMany(): Promise<Page> {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const run = async (body: Record<string, unknown>): Promise<string> =>
    (await first.request("POST", "/v1/turns?wait_ms=60000", { executor: "cli-b", ...body })).body.turn_id;
  await run({ input: "the oldest\nexit 3", session_id: "session-oldest" });
  const turnId = await run({ input: "hello", session_id: "session-copied" });
  await first.stop();
  plantTurns({
    state: first.state,
    sessionId: "session-copied",
    turnId,
    sessions: SESSIONS,
    turnsPerSession: TURNS_PER_SESSION,
  });
  const turnd = await fakeDaemonIn(directory);
  await turnd.request("POST", "/v1/turns?wait_ms=60000", { input: "the youngest", session_id: "session-oldest" });
  await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "session-empty" });
  const { page, close } = await openInspector(turnd.url);
  onTestFinished(close);
  await page.locator(".turn-link").first().waitFor();
  return page;
}

describe.skipIf(!HAS_CHROMIUM)("the inspector of a turnd with many turns", { timeout: 180_000 }, () => {
  test("lists the newest, older ones on demand, and finds any by its text or status", async () => {
    const page = await openMany();
    const links = page.locator(".turn-link");
    await expect.poll(() => links.count()).toBe(100);
    expect(await links.first().innerText()).toContain("the youngest");
    // Of a session whose turns are all older than those that are listed, nothing is shown.
    expect(await page.getByText("No turn yet.").count()).toBe(1);
    expect(await page.locator(".session", { hasText: "No turn yet." }).innerText()).toContain("…on-empty");
    await page.getByRole("button", { name: "Show older turns" }).click();
    await expect.poll(() => links.count()).toBe(300);
    // It stays so when the newest are read again.
    await page.waitForResponse((answer) => answer.url().includes("/v1/turns?limit=100"));
    await page.waitForResponse((answer) => answer.url().includes("/v1/turns?limit=100"));
    expect(await links.count()).toBe(300);

    await page.reload();
    await page.locator("#list-search").fill("turn number 7 oldest");
    await page.getByText("No turn matches.").waitFor();
    await page.locator("#list-search").fill("the oldest");
    await page.getByText("Searched the newest 100 turns.").waitFor();
    await page.getByRole("button", { name: "Search older turns" }).click();
    await links.filter({ hasText: "the oldest" }).waitFor();

    await page.reload();
    await page.getByRole("combobox", { name: "Status" }).selectOption("failed");
    await expect.poll(() => links.count()).toBe(1);
    expect(await links.innerText()).toContain("the oldest");
    await links.click();
    // The other turn of its session is not in this list.
    await page.locator(".ids", { hasText: "(1 of 2)" }).waitFor();
    await page.getByRole("button", { name: "Turn after" }).click();
    await page.locator(".ids", { hasText: "(2 of 2)" }).waitFor();
    await page.getByRole("button", { name: "Turn before" }).click();
    await page.getByRole("combobox", { name: "Status" }).selectOption("completed");
    await expect.poll(() => links.count()).toBe(100);
    // What is shown does not depend on what is listed.
    await page.locator(".turn-header .status.failed").waitFor();
    await page.getByRole("combobox", { name: "Status" }).selectOption("all");
    for (let shown = 100; shown < COUNT + 3; shown += 200) {
      await page.getByRole("button", { name: "Show older turns" }).click();
      await expect.poll(() => links.count()).toBe(Math.min(shown + 200, COUNT + 3));
    }
    expect(await page.getByRole("button", { name: "Show older turns" }).count()).toBe(0);
  });
});
