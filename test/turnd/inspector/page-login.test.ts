import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM, visit } from "../../harness/browser.ts";
import type { TestDaemon } from "../../harness/daemon.ts";
import { fakeDaemonIn } from "../../harness/fake-daemon.ts";
import { openInspector, type InspectorPage } from "../../harness/inspector-page.ts";
import { logIn, shareInspector, show, TOKEN } from "../../harness/inspector-stage.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

async function open(turnd: TestDaemon): Promise<InspectorPage> {
  const inspector = await openInspector(turnd.url);
  onTestFinished(() => inspector.close());
  return inspector;
}

async function restart(turnd: TestDaemon, directory: string, env: Record<string, string> = {}): Promise<TestDaemon> {
  turnd.kill("SIGKILL");
  await turnd.exited;
  return fakeDaemonIn(directory, { TURND_PORT: new URL(turnd.url).port, ...env });
}

/** The numbers of all events that a turn's list has, gone through from its beginning. */
async function listedSeqs(page: Page): Promise<number[]> {
  const seqs: unknown = await page.evaluate(`(async () => {
    const list = document.querySelector(".virtual");
    const seqs = new Set();
    for (let top = 0; ; top += list.clientHeight / 2) {
      list.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const shown = [...document.querySelectorAll(".event .place button")].map(({ textContent }) => Number(textContent.slice(1)));
      if (new Set(shown).size < shown.length) throw new Error("an event is listed twice: " + shown);
      for (const seq of shown) seqs.add(seq);
      if (top > list.scrollHeight) return [...seqs];
    }
  })()`);
  return Array.isArray(seqs) ? seqs.map(Number).toSorted((one, other) => one - other) : [];
}

describe.skipIf(!HAS_CHROMIUM)("the inspector, while turnd changes", { timeout: 180_000 }, () => {
  const stage = shareInspector();

  test("goes on after a restart with every event once, and says when a turn is gone", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    const turnId = (await first.request("POST", "/v1/turns", { executor: "cli-b", input: "paced 40 0.2\nat its end" }))
      .body.turn_id;
    const { page, picture } = await open(first);
    await show(page, turnId);
    await page.getByRole("button", { name: "Steps" }).click();
    await page.locator(".event", { hasText: "paced 3" }).first().waitFor();
    first.kill("SIGKILL");
    await first.exited;
    await page.getByRole("alert").getByText("turnd does not answer. Trying again …").waitFor();
    await picture("inspector-no-answer");
    const second = await restart(first, directory);
    await page.getByText("turnd does not answer").waitFor({ state: "detached" });
    await page.locator(".turn-header .status.completed").waitFor({ timeout: 60_000 });
    // The digest of what was read is that of what turnd has.
    await page.getByText("complete history").waitFor();
    const seqs = await listedSeqs(page);
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1));
    expect(seqs.length).toBeGreaterThan(43);

    const hanging = await second.request("POST", "/v1/turns", { executor: "cli-b", input: "hang" });
    await show(page, hanging.body.turn_id);
    await page.locator(".turn-header .status.running").waitFor();
    await page.locator(".event", { hasText: "Started" }).waitFor();
    // Deleted at another port, while the page's own is silent.
    const elsewhere = await restart(second, directory, { TURND_PORT: "0" });
    await elsewhere.request("DELETE", `/v1/sessions/${hanging.body.session_id}`);
    await elsewhere.stop();
    await fakeDaemonIn(directory, { TURND_PORT: new URL(second.url).port });
    await page.getByText("This turn was deleted.").waitFor();
  });

  test("asks for a changed token over what is shown, keeps it, and goes on", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory, { TURND_TOKEN: TOKEN });
    const { page, picture } = await open(first);
    await logIn(page);
    await page.keyboard.press("n");
    await page.locator("#new-input").fill("paced 30 0.3\nat its end");
    await page.keyboard.press("Control+Enter");
    await page.locator(".event", { hasText: "paced 2" }).first().waitFor();
    await page.locator("#event-search").fill("at its");
    await page.locator("#composer").fill("half a thought");
    const changed = `${TOKEN}-changed`;
    await restart(first, directory, { TURND_TOKEN: changed });
    const dialog = page.getByRole("dialog", { name: "Log in again" });
    await dialog.waitFor();
    await picture("inspector-login-again");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await dialog.getByLabel("Token").fill(TOKEN);
    await page.keyboard.press("Enter");
    await dialog.getByText("that token is not right").waitFor();
    await dialog.getByLabel("Token").fill(changed);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await page.locator("#composer").inputValue()).toBe("half a thought");
    await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("composer");
    await page.locator(".event", { hasText: "at its end" }).waitFor({ timeout: 60_000 });
    await page.getByText("complete history").waitFor();
  });

  test("in two tabs has one login, which one of them can end", async () => {
    const { page } = await stage().open();
    await logIn(page);
    const other = await page.context().newPage();
    await visit(other, stage().turnd.url);
    await other.locator(".list-items").waitFor();
    const turnId = await stage().run({ input: "seen in both" });
    for (const tab of [page, other]) await tab.locator(".turn-link", { hasText: "seen in both" }).waitFor();
    await show(other, turnId);
    await other.locator("#composer").fill("half a thought");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.locator("#token").waitFor();
    await other.getByRole("dialog", { name: "Log in again" }).waitFor();
    await logIn(page);
    await other.getByRole("dialog").waitFor({ state: "detached" });
    expect(await other.locator("#composer").inputValue()).toBe("half a thought");
  });

  test("says that its script is missing, and loads again", async () => {
    const { page } = await stage().open();
    await page.route("**/inspector/*.js", (route) => route.abort());
    await expect(visit(page, stage().turnd.url)).rejects.toThrow(".js");
    await page.getByText("its script is missing").waitFor();
    await page.unroute("**/inspector/*.js");
    await page.getByRole("link", { name: "Load again" }).click();
    await page.locator("#token").waitFor();
  });
});
