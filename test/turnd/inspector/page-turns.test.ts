import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { HAS_CHROMIUM } from "../../harness/browser.ts";
import { faultsOf, logIn, shareInspector, show } from "../../harness/inspector-stage.ts";
import { temporaryDirectory, userDirectory } from "../../harness/temporary.ts";

/** The links of messages. */
const LINKS = `[...document.querySelectorAll(".markdown a")].map(({ href, rel, target }) => [href, rel, target])`;

/** A message of the fake CLI. */
function speak(text: string): string {
  return `raw ${JSON.stringify({ type: "item.completed", item: { id: "item_9", type: "agent_message", text } })}`;
}

describe.skipIf(!HAS_CHROMIUM)("a turn on the inspector's page", { timeout: 180_000 }, () => {
  const stage = shareInspector();

  test("is started in a workspace, with permissions, an image and a diff, and shows what it changed", async () => {
    const workspace = userDirectory(join(stage().turnd.workspace, "of the page"));
    const image = join(temporaryDirectory(onTestFinished), "dot.png");
    writeFileSync(image, Buffer.from("89504e470d0a1a0a", "hex"));
    const { page, picture } = await stage().open();
    await logIn(page);
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "New turn" });
    await dialog.getByLabel("Prompt").fill("shell printf '<b>two</b>\\n' > new; rm -f gone");
    await dialog.getByText("Workspace, permissions, images").click();
    await dialog.getByLabel("Workspace, an absolute path").fill(workspace);
    await dialog.getByLabel("use the network").uncheck();
    await dialog.getByLabel("Images").setInputFiles(image);
    await dialog.getByLabel("Keep what it changes").check();
    expect(await faultsOf(page, "new turn")).toEqual([]);
    await picture("inspector-new-turn");
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.locator(".turn-header .status.completed").waitFor();
    await page.getByText(workspace).first().waitFor();
    await page.getByText("and 1 images").waitFor();
    const turnId = /turns\/([^/]+)/.exec(page.url())?.[1] ?? "";
    const file = globSync(`${stage().turnd.state}/sessions/*/turns/${turnId}/turn.json`).join();
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ workspace, permissions: { network: "deny" } });

    await page.keyboard.press("4");
    await page.getByRole("tab", { name: "Diff", selected: true }).waitFor();
    await page.getByText("1 file changed").waitFor();
    expect(await page.locator(".change .diff-added").allInnerTexts()).toEqual(["+<b>two</b>\n"]);
    expect(await faultsOf(page, "diff")).toEqual([]);
    await picture("inspector-diff");
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the patch" }).click();
    expect((await saving).suggestedFilename()).toBe(`${turnId}.patch`);

    // Where there is none, it says why, and how there would be one.
    await show(page, await stage().run({ input: "hello" }), "/diff");
    await page.getByText(/has no diff: ask for it by `diff`/).waitFor();
  });

  test("shows that it lives while it runs: what it waits for, and when its last event came", async () => {
    const { page, picture } = await stage().open();
    await logIn(page);
    await show(page, await stage().admit({ input: "hello\nhang" }));
    const [waiting, last] = [page.locator(".waiting"), page.locator(".last-event")];
    await waiting.getByText(/^waits for the model, for [1-9]\d* s$/).waitFor();
    expect(await last.innerText()).toMatch(/^last event \d+ s ago$/);
    await page.locator("#cancel-turn").click();
    await page.locator(".turn-header .status.cancelled").waitFor();
    expect(await waiting.count()).toBe(0);

    await show(page, await stage().admit({ input: "open-tool make <all>\nhang" }));
    await waiting.getByText(/^runs make <all>, for \d+ s$/).waitFor();
    await page.locator("#cancel-turn").click();
    await page.locator(".turn-header .status.cancelled").waitFor();

    // As CLI A's commands, of which no event tells before they have ended.
    await show(page, await stage().admit({ input: "shell exec setsid sleep 333" }));
    await waiting.getByText(/^runs sleep 333, for \d+ s$/).waitFor();
    await picture("inspector-waiting");
    await page.locator("#cancel-turn").click();
    await page.locator(".turn-header .status.cancelled").waitFor();
  });

  test("shows what a model writes as Markdown", async () => {
    const text = [
      '# Done\n\nI *changed* **two** files, see `sum.sh` &amp; [the manual](https://example.com/a?b=1&c=2 "title"):',
      "1. one\n2. two\n   - [x] tests\n   - docs",
      "| file | lines |\n| --- | ---: |\n| a | 1 |",
      "```sh\necho '<b>'\n```\n\n> quoted\n\n---\nhttps://example.com/bare and ~~gone~~",
    ].join("\n\n");
    const { page, picture } = await stage().openTurn(await stage().run({ input: speak(text) }));
    const message = page.locator(".event.speech .markdown");
    await message.getByRole("heading", { name: "Done", level: 3 }).waitFor();
    expect(await message.locator("em, strong, code, del").allInnerTexts()).toEqual([
      "changed",
      "two",
      "sum.sh",
      "gone",
    ]);
    expect(await message.locator("ol > li").count()).toBe(2);
    expect(await message.locator("ol ul > li").allInnerTexts()).toEqual(["☑ tests", "docs"]);
    expect(await message.locator("td").allInnerTexts()).toEqual(["a", "1"]);
    expect(await message.locator("pre").innerText()).toBe("echo '<b>'");
    expect(await message.locator("blockquote").innerText()).toBe("quoted");
    expect(await page.evaluate(LINKS)).toEqual([
      ["https://example.com/a?b=1&c=2", "noopener noreferrer", "_blank"],
      ["https://example.com/bare", "noopener noreferrer", "_blank"],
    ]);
    expect(await message.innerText()).toContain("sum.sh & the manual (example.com):");
    expect(await faultsOf(page, "markdown")).toEqual([]);
    await picture("inspector-markdown");
  });

  test("shows hostile Markdown as what it is: no HTML, no image, no address but the web's, nothing hidden", async () => {
    const hostile = [
      `<script>document.title = "1"</script><img src=x onerror="document.title=1"><b onclick="1">b</b>`,
      "![pixel](https://127.0.0.1:9/track.png) ![](https://127.0.0.1:9/2.png) [![in](https://127.0.0.1:9/3.png)](https://127.0.0.1:9/4)",
      "[a](javascript:document.title=1) [b](data:text/html,x) [c](&#106;avascript:1) <javascript:alert(1)> [d](//example.com) [e](file:///etc/passwd)",
      '[https://bank.example](https://evil.example/) [f][g]\n\n[g]: https://evil.example "hidden"',
      `&lt;i&gt; &#x202e;dcba \u202edcba <!-- a comment --> <a href="https://evil.example">h</a>`,
    ].join("\n\n");
    const nested = [">".repeat(3_000), "- ".repeat(200), "[".repeat(3_000), ">".repeat(100), "_a".repeat(100_000)];
    const input = [hostile, ...nested.map((text) => `${text} deep`)].map(speak).join("\n");
    const turnId = await stage().run({ input });
    const asked: string[] = [];
    const { page, picture } = await stage().open();
    page.on("request", (request) => asked.push(request.url()));
    await logIn(page);
    await show(page, turnId);
    const message = page.locator(".event.speech .markdown").first();
    await message.waitFor();
    expect(await message.locator("img, script, b, iframe, [onclick], [onerror]").count()).toBe(0);
    const seen = await message.innerText();
    for (const part of [
      `<script>document.title = "1"</script><img src=x onerror="document.title=1"><b onclick="1">b</b>`,
      "image: pixel (127.0.0.1:9)",
      "[a](javascript:document.title=1) [b](data:text/html,x) [c](&#106;avascript:1)",
      "[d](//example.com) [e](file:///etc/passwd)",
      "https://bank.example (evil.example)",
      '[g]: https://evil.example "hidden"',
      "<i> U+202Edcba U+202Edcba <!-- a comment -->",
      '<a href="https://evil.example">h</a>',
    ]) {
      expect(seen).toContain(part);
    }
    const found = z.array(z.array(z.string())).parse(await page.evaluate(LINKS));
    expect(found.length).toBeGreaterThan(4);
    for (const link of found) expect(link).toEqual([expect.stringMatching(/^https:/), "noopener noreferrer", "_blank"]);
    expect(await page.title()).not.toBe("1");
    expect(asked.filter((url) => !url.startsWith(stage().turnd.url))).toEqual([]);
    // A text that would take a reader of Markdown seconds is shown as it was written.
    await page.keyboard.press("e");
    await page.keyboard.press("End");
    const long = page.locator(".event.speech").last();
    await long.getByRole("button", { name: /^Show 41 KiB more/ }).click();
    await long.getByRole("button", { name: /^Show .* more of 14\d KiB/ }).waitFor();
    expect(await page.locator(".markdown a a").count()).toBe(0);
    await page.getByText("complete history").waitFor();
    await picture("inspector-markdown-hostile");
  });
});
