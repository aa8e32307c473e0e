import type { Page } from "playwright-core";
import { keepPicture, launchBrowser, reload, visit } from "./browser.ts";
import { waitFor } from "./wait-for.ts";

/** The terminal's page in a headless browser. */
export interface TerminalPage {
  readonly page: Page;
  /** What the terminal shows now, without blank lines. */
  text(): Promise<string>;
  /** The line at the bottom. */
  status(): Promise<string>;
  /** Resolves when the terminal shows a pattern. */
  shows(wanted: RegExp): Promise<void>;
  /** Types a line. */
  type(line: string): Promise<void>;
  /** Keeps a picture and prints where. */
  picture(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a terminal's URL. */
export async function openTerminalPage(url: string): Promise<TerminalPage> {
  const { page, close } = await launchBrowser({ width: 1000, height: 600 });
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  await visit(page, url).catch(async (error: unknown) => {
    await close();
    throw error;
  });

  const text = (): Promise<string> => textOf(page);
  return {
    page,
    text,
    status: () => read(page, "#status"),
    shows: (wanted) => showsIn(page, wanted),
    async type(line) {
      await page.locator("#terminal").click();
      await page.keyboard.type(line);
      await page.keyboard.press("Enter");
    },
    async picture(name) {
      process.stdout.write(`picture: ${await keepPicture(page, name)}\n`);
    },
    async close() {
      await close();
      if (faults.length > 0) throw new Error(`the page failed: ${faults.join("; ")}`);
    },
  };
}

/** Resolves when the terminal of a page shows a pattern. A browser draws only the tab in front. */
export async function showsIn(page: Page, wanted: RegExp): Promise<void> {
  await page.bringToFront();
  await waitFor(`${wanted} on the page`, async () => wanted.test(await textOf(page))).catch(async (error: unknown) => {
    const body = await page.locator("body").innerText({ timeout: 5000 });
    throw new Error(`${page.url()} shows only: ${body}`, { cause: error });
  });
}

async function textOf(page: Page): Promise<string> {
  return (await read(page, ".xterm-rows")).replaceAll(/\s*\n\s*/g, "\n");
}

async function read(page: Page, selector: string): Promise<string> {
  const text = (await page.locator(selector).isVisible()) ? await page.locator(selector).innerText() : "";
  return text.replaceAll("\u00a0", " ");
}

/**
 * Uses the page as a person does: types, sees the output, reloads, sees the scrollback, goes on.
 *
 * @param url - of a new terminal, of either server
 * @param picture - name of the picture that is kept
 */
export async function driveTerminalPage(url: string, picture: string): Promise<void> {
  const terminal = await openTerminalPage(url);
  try {
    await terminal.shows(/\$/);
    await terminal.type("kept=here; printf '\\033[32mfi%s\\033[0m %s\\n' rst '✓ größer'; id -u; stty size");
    await terminal.shows(/first ✓ größer\n\d+\n\d+ \d+\n/);
    const size = /\n(\d+) (\d+)\n/.exec(await terminal.text());
    if (Number(size?.[1]) < 25 || Number(size?.[2]) < 90) throw new Error(`the window is not filled: ${size?.[0]}`);
    await reload(terminal.page);
    await terminal.shows(/first ✓ größer\n/);
    await terminal.type("echo it-was-$kept");
    await terminal.shows(/\nit-was-here\n/);
    await terminal.picture(picture);
  } finally {
    await terminal.close();
  }
}
