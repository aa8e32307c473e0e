import { describe, expect, onTestFinished, test } from "vitest";
import { execa } from "execa";
import { HAS_CHROMIUM, launchBrowser, visit } from "../../harness/browser.ts";
import { logIn, shareInspector, show, TOKEN } from "../../harness/inspector-stage.ts";

/** A line of Perl that prints an event of the fake CLI whose text is an expression. */
function speak(text: string): string {
  const head = String.raw`{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"`;
  return `shell perl -e 'print "${head}" . (${text}) . "${String.raw`\"}}\n`}"'`;
}

/** How the page names the button that has the focus, after `document.activeElement?.`. */
const NAME = 'getAttribute("aria-label") ?? document.activeElement.textContent.trim()';

describe.skipIf(!HAS_CHROMIUM)("the inspector, shown what nobody would write", { timeout: 180_000 }, () => {
  const stage = shareInspector();

  test("stays usable with a megabyte on one line, 100 000 lines, and markup in the name of a file", async () => {
    const changes = [{ path: '/tmp/<img src=x onerror="document.title=1">\u202E.sh', kind: "add" }];
    const change = { id: "item_7", type: "file_change", status: "completed", changes };
    const input = [
      speak('"x" x 1048576'),
      speak(String.raw`"line\\n" x 100000`),
      `raw ${JSON.stringify({ type: "item.completed", item: change })}`,
    ];
    const { page, picture } = await stage().openTurn(await stage().run({ input: input.join("\n") }), { width: 360 });
    await page.getByText("complete history").waitFor();
    const nodes = async (): Promise<number> => Number(await page.evaluate('document.querySelectorAll("*").length'));
    expect(await nodes()).toBeLessThan(2_500);
    await page.getByRole("button", { name: /^Show 41 KiB more of 1018 KiB/ }).click();
    await page.getByRole("button", { name: /^Show 328 KiB more of 977 KiB/ }).waitFor();
    await page.keyboard.press("e");
    await page.keyboard.press("End");
    const path = page.locator(".change code");
    await path.waitFor();
    expect(await path.innerText()).toBe('/tmp/<img src=x onerror="document.title=1">U+202E.sh');
    await picture("inspector-hostile-360");
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    expect(await page.locator(".virtual img, .virtual script").count()).toBe(0);
  });

  test("runs no script but its own, and moves nothing where a reader wants that", async () => {
    const turnId = await stage().admit({ input: "hang" });
    // Without what complains of every refusal of the policy, which are wanted here.
    const { page, close } = await launchBrowser({ width: 1000, height: 700 });
    onTestFinished(close);
    await visit(page, stage().turnd.url);
    await logIn(page);
    await show(page, turnId);
    const add = `document.body.append(Object.assign(document.createElement("script"), { src: "data:text/javascript,globalThis.ran=1" }))`;
    await expect(page.evaluate(add)).rejects.toThrow("TrustedScriptURL");
    await expect(page.evaluate(`document.body.innerHTML = "<b>no</b>"`)).rejects.toThrow("TrustedHTML");
    expect(await page.evaluate("globalThis.ran")).toBeUndefined();
    const moving = `document.getAnimations().filter(({ playState }) => playState === "running").length`;
    await expect.poll(() => page.evaluate(moving)).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await expect.poll(() => page.evaluate(moving)).toBe(0);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.locator(".turn-header .status.cancelled").waitFor();
  });

  test("keeps the focus in a dialog, and gives it back", async () => {
    const { page } = await stage().openTurn(await stage().run({ input: "hello" }));
    const active = (what: string): Promise<unknown> => page.evaluate(`document.activeElement?.${what}`);
    for (const [name, title] of [
      ["New turn", "New turn"],
      ["Open recording", "Open a recording"],
      ["Keyboard help", "Keyboard"],
    ] as const) {
      const button = page.getByRole("button", { name, exact: true });
      await button.focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: title });
      await dialog.waitFor();
      for (let presses = 0; presses < 12; presses += 1) {
        await page.keyboard.press("Tab");
        // The browser's own controls are between the last and the first.
        expect(await active('closest("dialog") !== null || document.activeElement === document.body')).toBe(true);
      }
      await dialog.getByRole("button", { name: "Close" }).focus();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Shift+Tab");
      expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      expect(await active(NAME)).toBe(name);
      await page.keyboard.press("Enter");
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.locator("dialog").waitFor({ state: "detached" });
      expect(await active(NAME)).toBe(name);
    }
  });

  test("leaves the focus to a reader who opens another dialog before the page has heard that one closed", async () => {
    const { page } = await stage().openTurn(await stage().run({ input: "hello" }));
    await page.getByRole("button", { name: "Open recording", exact: true }).press("Enter");
    await page.getByRole("dialog", { name: "Open a recording" }).waitFor();
    await page.evaluate(`document.querySelector("dialog").close();
      const help = document.querySelector('[aria-label="Keyboard help"]');
      help.focus();
      help.click();`);
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate(`document.activeElement?.${NAME}`)).toBe("Keyboard help");
  });

  test("copies a command that runs, where a page of plain HTTP has no clipboard", async () => {
    const { page } = await stage().open();
    await page.addInitScript(`globalThis.kept = navigator.clipboard;
      Object.defineProperty(navigator, "clipboard", { value: undefined });`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.reload();
    await logIn(page);
    const hostile = 'it\'s "so" $HOME `id` $(id) \\\n!! \u202e\ttab';
    for (const input of [hostile, `${hostile}\nEND\n${"'$x".repeat(60_000)}`]) {
      await show(page, await stage().run({ input }));
      await page.locator("summary", { hasText: "Copy as curl" }).click();
      await page.getByRole("button", { name: "Start such a turn" }).click();
      await page.getByText("Copied.").waitFor();
      const command = String(await page.evaluate("globalThis.kept.readText()"));
      const ran = await execa("bash", { input: command, env: { TURND_TOKEN: TOKEN } });
      const { turn_id: turnId } = JSON.parse(ran.stdout);
      const headers = { authorization: `Bearer ${TOKEN}` };
      const asked = await stage().turnd.request("GET", `/v1/turns/${turnId}/input`, undefined, headers);
      expect(asked.body.text).toBe(input);
    }
  });

  test.each([
    { width: 640, height: 400, of: "1280 x 800 at 200 %" },
    { width: 320, height: 256, of: "1280 x 1024 at 400 %" },
  ])("shows events on a low window: $of", async ({ width, height }) => {
    const metadata = { "<b>name</b>": '<img src=x onerror="1">\u202e', long: "x".repeat(1_000) };
    const turnId = await stage().run({ input: `${"Look at it. ".repeat(60)}\nlast words`, metadata });
    const { page, picture } = await stage().openTurn(turnId, { width, height });
    await page.getByText("complete history").waitFor();
    const shown = page.locator(".facts-line span", { hasText: "<b>name</b>=<img" });
    expect(await shown.innerText()).toBe('<b>name</b>=<img src=x onerror="1">U+202E');
    expect(await shown.getAttribute("title")).not.toContain("\u202e");
    await page.keyboard.press("e");
    await page.keyboard.press("End");
    await page.locator(".event:focus", { hasText: "completed" }).waitFor();
    await page.keyboard.press("k");
    const words = page.locator(".event:focus", { hasText: "last words" });
    await words.waitFor();
    await picture(`inspector-low-${width}`);
    const { y = -1, height: tall = 0 } = (await words.boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y + tall).toBeLessThanOrEqual(height);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    // All of the turn is reached.
    await page.locator("#composer").scrollIntoViewIfNeeded();
    await page.locator("#composer").fill("go on");
    await page.locator(".back").scrollIntoViewIfNeeded();
    await page.locator(".back").click();
    await page.locator(".nothing").waitFor({ state: "hidden" });
    await page.locator(".turn-link").first().waitFor();
  });
});
