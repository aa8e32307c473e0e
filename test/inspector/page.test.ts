import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startDaemon, type TestDaemon } from "../harness/daemon.ts";
import { fakeEnv } from "../harness/fake-env.ts";
import { openInspector, type InspectorPage, type Looks } from "../harness/inspector-page.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { HAS_CHROMIUM } from "../harness/browser.ts";

const TOKEN = "a-token-of-some-length";
const HEADERS = { authorization: `Bearer ${TOKEN}` };

describe.skipIf(!HAS_CHROMIUM)("the inspector", { timeout: 180_000 }, () => {
  let turnd: TestDaemon;
  const cleanUps: (() => void)[] = [];
  beforeAll(async () => {
    const directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
    turnd = await startDaemon({ directory, env: { ...fakeEnv(directory), TURND_TOKEN: TOKEN } });
  });
  afterAll(async () => {
    await turnd.stop();
    for (const cleanUp of cleanUps) cleanUp();
  });

  async function admit(body: Readonly<Record<string, unknown>>): Promise<string> {
    const answer = await turnd.request("POST", "/v1/turns", { executor: "cli-b", ...body }, HEADERS);
    expect(answer.status).toBe(202);
    return answer.body.turn_id;
  }

  async function open(looks: Looks = {}): Promise<InspectorPage> {
    const inspector = await openInspector(turnd.url, looks);
    onTestFinished(() => inspector.close());
    return inspector;
  }

  async function openLoggedIn(looks: Looks = {}): Promise<InspectorPage> {
    const inspector = await open(looks);
    await inspector.page.locator("#token").fill(TOKEN);
    await inspector.page.keyboard.press("Enter");
    await inspector.page.locator(".list-items").waitFor();
    return inspector;
  }

  test("asks for the token once, and keeps it nowhere", async () => {
    const { page } = await open();
    await page.locator("#token").fill("not-the-token");
    await page.keyboard.press("Enter");
    await page.getByText("that token is not right").waitFor();
    await page.locator("#token").fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.locator(".list-items").waitFor();
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    expect(kept).not.toContain(TOKEN);
    expect(JSON.parse(String(kept))).toEqual([{ "turnd.session-key": expect.any(String) }, {}, ""]);
    expect(page.url()).not.toContain(TOKEN);
    await page.reload();
    await page.locator(".list-items").waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.locator("#token").waitFor();
    await page.reload();
    await page.locator("#token").waitFor();
  });

  test("shows a turn's events as they arrive, and its end", async () => {
    const turnId = await admit({ input: "Say it slowly\nsleep 1\ntool ls -l\npaced 3 0.3" });
    const { page } = await openLoggedIn();
    await page.locator(".turn-link", { hasText: "Say it slowly" }).click();
    await page.locator(".turn-header .status.running").waitFor();
    await page.locator(".event", { hasText: "paced 1" }).waitFor();
    await page.locator(".event", { hasText: "ls -l" }).first().waitFor();
    await page.locator(".turn-header .status.completed").waitFor();
    await page.getByText("complete history").waitFor();
    expect(page.url()).toContain(turnId);
  });

  test("what a model writes is text, whatever it is", async () => {
    const hostile =
      '<img src=x onerror="document.title=1"> abc\u202Edcba javascript:alert(1) https://example.com/a?b=<i> \u001b]0;x\u0007';
    const item = { id: "item_9", type: "agent_message", text: hostile };
    await admit({ input: `raw ${JSON.stringify({ type: "item.completed", item })}` });
    const { page } = await openLoggedIn();
    await page.locator(".turn-link", { hasText: "raw {" }).click();
    const message = page.locator(".event.speech .prose");
    await message.waitFor();
    expect(await message.innerText()).toContain('<img src=x onerror="document.title=1"> abc');
    expect(await message.locator(".control").allInnerTexts()).toEqual(["U+202E", "ESC", "U+0007"]);
    expect(await message.locator("img").count()).toBe(0);
    const links = message.locator("a");
    expect(await links.count()).toBe(1);
    expect([await links.getAttribute("href"), await links.getAttribute("rel")]).toEqual([
      "https://example.com/a?b=",
      "noopener noreferrer",
    ]);
  });
});
