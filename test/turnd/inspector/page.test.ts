import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { HAS_CHROMIUM } from "../../harness/browser.ts";
import { faultsOf, logIn, shareInspector, show, TOKEN } from "../../harness/inspector-stage.ts";
import { join } from "node:path";
import { execa } from "execa";
import { REPOSITORY } from "../../harness/temporary.ts";

const Scrolled = z.object({
  slowestMs: z.number(),
  nodes: z.number(),
  nodesMade: z.number(),
  longTasks: z.number(),
});
const RECORDED = join(REPOSITORY, "fixtures/cli-b/0.139.0/rate-limited");

describe.skipIf(!HAS_CHROMIUM)("the inspector", { timeout: 180_000 }, () => {
  const stage = shareInspector();

  test("asks for the token once, and keeps it nowhere", async () => {
    const { page } = await stage().open();
    await page.locator("#token").fill("not-the-token");
    await page.keyboard.press("Enter");
    await page.getByText("that token is not right").waitFor();
    await logIn(page);
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
    const { page } = await stage().open();
    await logIn(page);
    const turnId = await stage().admit({ input: "Say it slowly\nsleep 4\ntool ls -l\npaced 3 0.3" });
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
    const turnId = await stage().run({ input: `raw ${JSON.stringify({ type: "item.completed", item })}` });
    const { page } = await stage().openTurn(turnId);
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

  test("an event of a type that it does not know is shown as what it is", async () => {
    const turnId = await stage().run({ input: "hello" });
    const { page } = await stage().open();
    await logIn(page);
    await page.route(`**/v1/turns/${turnId}/events`, async (route) => {
      const answer = await route.fetch();
      const text = (await answer.text()).replaceAll('"type":"message"', '"type":"hologram"');
      await route.fulfill({ response: answer, body: text });
    });
    await show(page, turnId);
    const unknown = page.locator(".event", { hasText: "an event that this page does not know" });
    await unknown.waitFor();
    expect(await unknown.innerText()).toContain("hologram");
    expect(await unknown.innerText()).toContain("hello");
    // A connection that is being made again as the page is closed is no fault.
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("a raw record stands beside the event that came of it, with its line", async () => {
    const turnId = await stage().run({ input: "hello\ntool ls" });
    const { page } = await stage().openTurn(turnId);
    await page.locator(".event.speech button", { hasText: "#3" }).click();
    const [raw, unified] = [
      page.getByRole("region", { name: "Raw record" }),
      page.getByRole("region", { name: "Unified event" }),
    ];
    await raw.getByText('"agent_message"').waitFor();
    expect(await unified.innerText()).toContain('"type": "message"');
    await raw.getByText("stdout line 3").click();
    const marked = page.locator(".record.marked");
    await marked.waitFor();
    expect(await marked.locator(".line-number").innerText()).toBe("3");
    expect(await marked.innerText()).toMatch(/agent_message[\s\S]*"seq": 3/);
  });

  test("events are found by text and hidden by kind", async () => {
    const turnId = await stage().run({ input: "alpha\nbeta\ntool ls gamma" });
    const { page } = await stage().openTurn(turnId);
    await page.locator(".event", { hasText: "beta" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("gamma");
    await expect.poll(() => page.locator(".event").count()).toBe(1);
    // Both together: what matches and is of a kind that is shown.
    await page.getByRole("button", { name: "Tools", exact: true }).click();
    await expect.poll(() => page.locator(".event").count()).toBe(0);
    await page.getByText("No event matches.").waitFor();
    await page.locator("#event-search").fill("");
    await page.locator(".event.tool").waitFor({ state: "detached" });
    await page.locator(".event", { hasText: "alpha" }).waitFor();
  });

  test("a turn is started, steered and cancelled", async () => {
    const { page } = await stage().open();
    await logIn(page);
    await page.keyboard.press("n");
    await page.locator("#new-executor").selectOption("cli-b");
    await page.locator("#new-input").fill("paced 100000 0.1");
    await page.keyboard.press("Control+Enter");
    await page.locator(".turn-header .status.running").waitFor();
    const first = page.url();
    await page.locator("#composer").fill("hang");
    await page.getByRole("button", { name: "Steer", exact: true }).click();
    await expect.poll(() => page.url(), { timeout: 30_000 }).not.toBe(first);
    await page.locator(".turn-header .status.running").waitFor();
    await page.locator(".event", { hasText: "Started" }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByText(/Cancelled: \d+ process/).waitFor();
    await page.locator(".turn-header .status.cancelled").waitFor();
  });

  test("a recording from disk is replayed, explained, and gone through by time", async () => {
    const { page, picture } = await stage().open();
    await logIn(page);
    await page.keyboard.press("o");
    await page
      .locator("#recording")
      .setInputFiles(["turn.json", "stdout.jsonl", "stderr.log", "exit.json"].map((name) => join(RECORDED, name)));
    await page.locator(".turn-header .pill.bad", { hasText: "rate_limited" }).waitFor();
    await page.keyboard.press("3");
    // The rule that decided; the others on request.
    await page.locator(".evidence").waitFor();
    expect(await page.locator("tr.won").isVisible()).toBe(false);
    await page.locator("summary", { hasText: "rules that were tried" }).click();
    await page.locator("tr.won", { hasText: "rate_limited" }).waitFor();
    await picture("inspector-verdict");
    await page.locator(".evidence a").click();
    await page.locator(".record.marked", { hasText: "429" }).waitFor();
    await page.keyboard.press("1");
    const slider = page.getByRole("slider", { name: "Time of the turn" });
    await slider.focus();
    await page.keyboard.press("Home");
    await page.locator(".event", { hasText: "rate_limited" }).waitFor({ state: "detached" });
    await page.keyboard.press("End");
    await page.locator(".event", { hasText: "rate_limited" }).waitFor();
  });

  test("an export is a recording that can be opened again, and a command asks for the same", async () => {
    const asked = { permissions: { network: "deny" }, diff: true, effort: "high", instructions: "Be brief." };
    const turnId = await stage().run({ input: 'it\'s "so" $HOME', ...asked });
    const { page } = await stage().openTurn(turnId);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator("summary", { hasText: "Export" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Recording (JSON)" }).click(),
    ]);
    const path = await download.path();
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ v: 1, input: 'it\'s "so" $HOME' });
    await page.locator("summary", { hasText: "Copy as curl" }).click();
    await page.getByRole("button", { name: "Start such a turn" }).click();
    await page.getByText("Copied.").waitFor();
    const command = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(command).toContain(`'${stage().turnd.url}/v1/turns'`);
    expect(command).toContain('"authorization: Bearer $TURND_TOKEN"');
    expect(command).toContain(`it'\\''s \\"so\\" $HOME`);
    expect(command).not.toContain(TOKEN);
    // What it does not repeat is said.
    await page.getByText("This turn had instructions, which the command has not.").waitFor();
    const { instructions, ...repeated } = asked;
    expect(command).not.toContain(instructions);
    const ran = await execa("bash", { input: command, env: { TURND_TOKEN: TOKEN } });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const { body } = await stage().turnd.request("GET", `/v1/turns/${turnId}`, undefined, headers);
    const { turn_id: again } = JSON.parse(ran.stdout);
    const second = await stage().turnd.request("GET", `/v1/turns/${again}/input`, undefined, headers);
    expect(second.body).toEqual({ turn_id: again, text: 'it\'s "so" $HOME', images: 0, ...repeated });
    const { executor, session_id, workspace, mode } = body;
    const { body: snapshot } = await stage().turnd.request("GET", `/v1/turns/${again}`, undefined, headers);
    expect(snapshot).toMatchObject({ executor, session_id, workspace, mode });
    await page.keyboard.press("o");
    await page
      .locator("#recording")
      .setInputFiles({ name: "a.json", mimeType: "application/json", buffer: readFileSync(path) });
    await page.locator(".turn-header", { hasText: "replay" }).waitFor();
  });

  test("20 000 events are read and gone through without delay", async () => {
    const turnId = await stage().run({ input: "burst 20000" });
    const { page } = await stage().openTurn(turnId);
    await page.getByText("20,002 of 20,003").waitFor();
    await page.keyboard.press("e");
    await page.keyboard.press("End");
    await page.locator(".event:focus", { hasText: "Ended" }).waitFor();
    expect(await page.locator(".event").count()).toBeLessThan(60);
    await page.keyboard.press("k");
    await page.locator(".event:focus", { hasText: "line 20000 of 20000" }).waitFor();
    // Frames while the list is scrolled through as fast as a wheel can: the slowest decides what a reader feels.
    const seen = Scrolled.parse(await page.evaluate(SCROLL));
    process.stdout.write(`gone through 20 000 events: ${JSON.stringify(seen)}\n`);
    expect(seen.slowestMs).toBeLessThan(2_000);
    // Only what is seen is in the document, and only what comes into view is made.
    expect(seen.nodes).toBeLessThan(2_500);
    expect(seen.nodesMade).toBeLessThan(60 * 600);
    await page.locator("#event-search").fill("line 17777 of");
    await page.locator(".event", { hasText: "line 17777 of 20000" }).waitFor();
    // And the one whose id has that number.
    await expect.poll(() => page.locator(".event").count()).toBe(2);
  });

  test("is used by keys alone", async () => {
    await stage().run({ input: "first of two", session_id: "session-keys" });
    await stage().run({ input: "second of two", session_id: "session-keys" });
    const { page } = await stage().open();
    await logIn(page);
    await page.locator("#list-search").fill("of two");
    await expect.poll(() => page.locator(".turn-link").count()).toBe(2);
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".prompt", { hasText: "first of two" }).waitFor();
    await page.keyboard.press("[");
    await page.locator(".prompt", { hasText: "second of two" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator(".event", { hasText: "second of two" }).waitFor();
    await page.keyboard.press("e");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Unified event" }).waitFor();
  });

  test.each([
    { width: 1280, scheme: "light" },
    { width: 1280, scheme: "dark" },
    { width: 360, scheme: "light" },
    { width: 380, scheme: "dark" },
  ] as const)("has no fault of accessibility at $width pixels, $scheme", async ({ width, scheme }) => {
    const hidden = { id: "i1", type: "agent_message", text: "see https://example.com \u202e" };
    const failed = {
      id: "x1",
      type: "command_execution",
      command: "ls",
      status: "failed",
      exit_code: 2,
      aggregated_output:
        "\u001b[31mred\u001b[0m \u001b[32mgreen\u001b[0m \u001b[33myellow\u001b[0m \u001b[2mdim\u001b[0m",
    };
    const lines = [hidden, failed].map((item) => `raw ${JSON.stringify({ type: "item.completed", item })}`);
    const turnId = await stage().run({ input: ["Look well", ...lines, "raw no json", "exit 3"].join("\n") });
    const { page, picture } = await stage().open({ width, scheme, height: 800 });
    await page.locator("#token").waitFor();
    const faults = [...(await faultsOf(page, "login"))];
    await logIn(page);
    faults.push(...(await faultsOf(page, "list")));
    await show(page, turnId);
    await page.locator(".event.bad").first().waitFor();
    await page.locator(".event button[aria-expanded]").first().click();
    faults.push(...(await faultsOf(page, "events")));
    await picture(`inspector-events-${width}-${scheme}`);
    for (const tab of ["raw", "verdict"]) {
      await show(page, turnId, `/${tab}`);
      if (tab === "verdict") await page.locator("summary", { hasText: "rules that were tried" }).click();
      await page.locator(".record, tr.won").first().waitFor();
      faults.push(...(await faultsOf(page, tab)));
      await picture(`inspector-${tab}-${width}-${scheme}`);
    }
    for (const key of ["n", "o", "?"]) {
      await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor();
      faults.push(...(await faultsOf(page, `dialog ${key}`)));
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    expect(faults.join("\n")).toBe("");
    // Nothing is wider than the screen.
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  });
});

const SCROLL = `(async () => {
  const list = document.querySelector(".virtual");
  let [slowest, nodes, nodesMade, longTasks] = [0, 0, 0, 0];
  const count = (node) => 1 + (node.querySelectorAll?.("*").length ?? 0);
  const changes = new MutationObserver((records) => {
    for (const { addedNodes } of records) for (const node of addedNodes) nodesMade += count(node);
  });
  changes.observe(list, { childList: true, subtree: true });
  const tasks = new PerformanceObserver((entries) => (longTasks += entries.getEntries().length));
  tasks.observe({ type: "longtask" });
  let last = performance.now();
  for (let step = 0; step < 60; step += 1) {
    list.scrollTop = (list.scrollHeight / 60) * step;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    slowest = Math.max(slowest, performance.now() - last);
    last = performance.now();
    nodes = Math.max(nodes, document.querySelectorAll("*").length);
  }
  changes.disconnect();
  tasks.disconnect();
  return { slowestMs: Math.round(slowest), nodes, nodesMade, longTasks };
})()`;
