import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { REPOSITORY } from "./temporary.ts";
import { waitFor } from "./wait-for.ts";

/** Debian's. */
export const CHROMIUM = "/usr/bin/chromium";
/** As root and without a network; see the machine's notes. */
export const BROWSER_ARGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Whether there is a browser to drive; without one, tests of the page are skipped, and say so. */
export const HAS_CHROMIUM = existsSync(CHROMIUM);
if (!HAS_CHROMIUM) process.stderr.write(`SKIPPED: tests of the terminal's page, for there is no ${CHROMIUM}\n`);

/** Where pictures are kept for people to look at. */
export const ARTEFACTS = join(REPOSITORY, ".turnd/artefacts");

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
  const profile = mkdtempSync(join(tmpdir(), "turnd-chromium-"));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: [...BROWSER_ARGS],
    viewport: { width: 1000, height: 600 },
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(url);

  const read = async (selector: string): Promise<string> => {
    const text = (await page.locator(selector).isVisible()) ? await page.locator(selector).innerText() : "";
    return text.replaceAll("\u00a0", " ");
  };
  const text = async (): Promise<string> => (await read(".xterm-rows")).replaceAll(/\s*\n\s*/g, "\n");
  return {
    page,
    text,
    status: () => read("#status"),
    async shows(wanted) {
      await waitFor(`${wanted} on the page`, async () => wanted.test(await text()));
    },
    async type(line) {
      await page.locator("#terminal").click();
      await page.keyboard.type(line);
      await page.keyboard.press("Enter");
    },
    async picture(name) {
      const path = join(ARTEFACTS, `${name}.png`);
      mkdirSync(dirname(path), { recursive: true });
      await page.screenshot({ path });
      process.stdout.write(`picture: ${path}\n`);
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
      if (faults.length > 0) throw new Error(`the page failed: ${faults.join("; ")}`);
    },
  };
}

/**
 * Uses the page as a person does: types, sees the output, reloads, sees the scrollback, goes on.
 *
 * @param url - of a new terminal, whoever serves it
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
    await terminal.page.reload();
    await terminal.shows(/first ✓ größer\n/);
    await terminal.type("echo it-was-$kept");
    await terminal.shows(/\nit-was-here\n/);
    await terminal.picture(picture);
  } finally {
    await terminal.close();
  }
}
