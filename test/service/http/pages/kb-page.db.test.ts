import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM, reload, visit } from "../../../harness/browser.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { call, testApp } from "../../harness/app.ts";
import { PASSWORD } from "../../harness/auth.ts";
import { DESK, openBrowser, PHONE, picture } from "../../harness/browser.ts";
import { openDesk } from "../../harness/knowledge.ts";
import { freshStorage } from "../../harness/storage.ts";
import { createTextParser } from "../../harness/text-parser.ts";

const FILLER = Array.from({ length: 400 }, (_, line) => `Line ${line} is about nothing.\n`).join("\n");
const BOATS = `# Boats\n\nA sail moves it.\n\n${FILLER}\n## Anchors\n\nAn anchor holds a <b>boat</b> in a storm.\n\n${FILLER}`;

/** An app with the people of a first start, and workers whose parser waits until it is let go on. */
async function openPage(viewport: { width: number; height: number }) {
  const storage = await freshStorage("postgres");
  const first = await testApp(storage);
  onTestFinished(() => first.close());
  const root = await call(first, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const token: string = root.body.access_token;
  const reader = { username: "reader", password: PASSWORD };
  expect((await call(first, "POST", "/api/auth/users", reader, { token })).status).toBe(200);
  const gate = Promise.withResolvers<void>();
  const desk = await openDesk(storage, { parser: createTextParser({ onParse: () => gate.promise }) });
  const base = await desk.app.listen({ host: "127.0.0.1", port: 0 });
  const page = await openBrowser(base, viewport);
  return { desk, base, page, letGo: gate.resolve };
}

async function logIn(page: Page, username: string): Promise<void> {
  await page.locator("#username").waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("username");
  await page.keyboard.type(username);
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.locator("#user", { hasText: username }).waitFor();
}

/** Drops files on the page as a person does. */
async function dropFiles(page: Page, files: Readonly<Record<string, string>>): Promise<void> {
  const data = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
    return transfer;
  })()`);
  await page.dispatchEvent("#drop", "dragenter", { dataTransfer: data });
  await page.dispatchEvent("#drop", "drop", { dataTransfer: data });
}

const isNoWiderThanScreen = (page: Page): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth <= window.innerWidth");

test.runIf(HAS_CHROMIUM)(
  "a person makes a knowledge base, drops files, asks, and opens the hit at its lines",
  async () => {
    const { base, page, letGo } = await openPage(DESK);
    await visit(page, `${base}/`);
    expect(page.url()).toBe(`${base}/kb`);
    await logIn(page, "root");
    await page.locator("#new-name").fill("Boats & <i>sails</i>");
    await page.keyboard.press("Enter");
    await page.locator("#base-name", { hasText: "Boats & <i>sails</i>" }).waitFor();
    await page.locator("#file-count", { hasText: "0 files" }).waitFor();

    const kbId = page.url().split("#/")[1] ?? "";
    await dropFiles(page, { "boats <img src=x>.md": BOATS, "bad.md": "x" });
    const row = page.locator("#file-list li").filter({ hasText: "boats" });
    await row.getByText("parsing", { exact: true }).waitFor();
    await page.locator("#task-list progress").first().waitFor();
    await picture(page, "kb-parsing");
    letGo();
    await row.getByText("indexed", { exact: true }).waitFor({ timeout: 60_000 });
    await page.locator("#file-list li").filter({ hasText: "bad.md" }).getByText("corrupt: not a document").waitFor();
    await page.locator("#task-list").getByText("success").first().waitFor();
    expect(await page.locator("#file-list img, #base-name i").count()).toBe(0);
    await picture(page, "kb-files");

    // A file that is there already is shown as such, and is no failure.
    await page
      .locator("#files")
      .setInputFiles({ name: "again.md", mimeType: "text/markdown", buffer: Buffer.from(BOATS) });
    await page.locator("#uploads").getByText("is there already").waitFor();

    await page.locator("#query").fill("what holds a boat in a storm");
    await page.keyboard.press("Enter");
    await page.locator("#hit-list pre").getByText("An anchor holds a <b>boat</b>").first().waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("hits-title");
    await picture(page, "kb-hits");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const hit = page.locator("#lines li.hit").filter({ hasText: "An anchor holds a <b>boat</b> in a storm." });
    await hit.waitFor();
    const number = await hit.getAttribute("data-line");
    expect(BOATS.split("\n")[Number(number) - 1]).toBe("An anchor holds a <b>boat</b> in a storm.");
    expect(
      await page.evaluate('document.querySelector("#lines li.hit").getBoundingClientRect().top < innerHeight'),
    ).toBe(true);
    expect(await page.evaluate("document.activeElement.id")).toBe("file-name");
    await picture(page, "kb-open");
    const countLines = (): Promise<number> => page.locator("#lines li").count();
    const addLines = async (id: "earlier" | "later"): Promise<void> => {
      const before = await countLines();
      await page.locator(`#${id}`).click();
      await waitFor("more lines", async () => (await countLines()) > before);
    };
    await addLines("earlier");
    while (await page.locator("#later").isVisible()) await addLines("later");
    // Every line once, in order.
    const lines: number[] = JSON.parse(
      await page.evaluate(
        'JSON.stringify([...document.querySelectorAll("#lines li")].map((line) => Number(line.dataset.line)))',
      ),
    );
    const from = lines[0] ?? 0;
    expect(lines).toEqual(lines.map((_, index) => from + index));

    // A reload goes on where it was, in this tab alone; nothing but its storage holds the login.
    await reload(page);
    await hit.waitFor();
    expect(await page.locator("#user").textContent()).toBe("root");
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([0, 1, ""]);
    const other = await page.context().newPage();
    await visit(other, page.url());
    await other.locator("#username").waitFor();
    await other.close();

    await page.locator("#pattern").fill("<b>BOAT</b>");
    await page.keyboard.press("Enter");
    await page.locator("#matches-title", { hasText: "1 matching line" }).waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("matches-title");
    await page.locator("#pattern").fill("^line \\d+ is");
    await page.locator("#is-regex").check();
    await page.locator("#find button").click();
    await page.locator("#matches-title", { hasText: "800 matching lines" }).waitFor();
    await page.locator("#more-matches").click();
    await waitFor("more places", async () => (await page.locator("#match-list li").count()) > 20);
    await picture(page, "kb-find");
    const place = page.locator("#match-list a").nth(2);
    const first = /(\d+)-\d+$/.exec((await place.getAttribute("href")) ?? "")?.[1];
    await place.click();
    await page.locator(`#lines li.hit[data-line="${first}"]`).waitFor();
    // What was found stays for the next place.
    expect(await page.locator("#match-list").isVisible()).toBe(true);
    await page.locator("#pattern").fill("(");
    await page.keyboard.press("Enter");
    await page.locator("#status.fault").waitFor();

    await visit(page, `${base}/kb#/${kbId}`);
    await page.locator("#query").fill("anchor");
    await page.keyboard.press("Enter");
    await page.locator("#hit-list pre").first().waitFor();
    page.once("dialog", (dialog) => void dialog.accept());
    await page.getByRole("button", { name: "Delete bad.md" }).click();
    await page.getByText("bad.md is deleted.").waitFor();
    await page.locator("#logout").click();
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([0, 0, ""]);
    await reload(page);
    await page.locator("#username").waitFor();
    // A login that is kept and has ended asks for another.
    await page.evaluate('sessionStorage.setItem("svc.token", "ended")');
    await reload(page);
    await page.getByText("Log in again.").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  },
);

test.runIf(HAS_CHROMIUM)("a reader on a phone finds and reads, and is offered nothing that is refused", async () => {
  const { desk, base, page, letGo } = await openPage(PHONE);
  letGo();
  const long = "a-very-long-name-without-any-blank-in-it-".repeat(3);
  const [fileId = ""] = await desk.ingest({ [`${long}.md`]: BOATS });
  // An address of a hit, as a person was sent it.
  await visit(page, `${base}/kb#/${desk.kbId}/${fileId}/806-808`);
  await logIn(page, "reader");
  await page.locator("#lines li.hit").first().waitFor();
  expect(await isNoWiderThanScreen(page)).toBe(true);
  await picture(page, "kb-phone-open");
  await page.locator("#back").click();
  await page.locator("#query").fill("anchor");
  await page.keyboard.press("Enter");
  await page.locator("#hit-list pre").first().waitFor();
  expect(await isNoWiderThanScreen(page)).toBe(true);
  for (const id of ["upload", "work"]) expect(await page.locator(`#${id}`).isVisible(), id).toBe(false);
  expect(await page.getByRole("button", { name: /Delete|Index|Cancel/ }).count()).toBe(0);
  await picture(page, "kb-phone-hits");
  await page.getByRole("link", { name: "Knowledge bases" }).click();
  await page.locator("#base-list li").waitFor();
  expect(await page.locator("#create").isVisible()).toBe(false);
  await picture(page, "kb-phone-bases");
  await visit(page, `${base}/kb#/kb_none`);
  await page.getByText("There is no such knowledge base.").waitFor();

  // A token that has ended asks for another, and loses nothing of the page.
  await page.locator("#logout").click();
  await page.getByText("You are logged out.").waitFor();
});
