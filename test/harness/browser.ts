import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { chromium, type Browser as Chromium, type Page, type Request } from "playwright-core";
import { afterAll } from "vitest";
import { REPOSITORY } from "./temporary.ts";

/** Debian's. */
const CHROMIUM = "/usr/bin/chromium";
/** Starts it so that containers which other tests start and stop do not break its connections. */
const STEADY_CHROMIUM = join(REPOSITORY, "test/programs/steady-chromium");
/** As root and without a network; see the machine's notes. */
const ARGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** The browser itself has given the request up: one of the page before, as a rule. */
const GIVEN_UP = "net::ERR_ABORTED";

/** Whether there is a browser to drive; without one, tests of pages are skipped, and that is reported. */
export const HAS_CHROMIUM = existsSync(CHROMIUM);
if (!HAS_CHROMIUM) process.stderr.write(`SKIPPED: tests of pages in a browser, for there is no ${CHROMIUM}\n`);

/** Where pictures are kept for people to look at. */
const ARTEFACTS = join(REPOSITORY, ".turnd/artefacts");

/** A page of a headless browser, in a profile of its own. */
export interface Browser {
  readonly page: Page;
  /** Ends it and removes its profile. */
  close(): Promise<void>;
}

/** One for all tests of a file: its start takes longer than most of them. */
let running: Promise<Chromium> | undefined;
afterAll(async () => (await running)?.close());

async function startedBrowser(): Promise<Chromium> {
  if ((await running)?.isConnected() !== true) {
    running = chromium.launch({ executablePath: STEADY_CHROMIUM, headless: true, args: [...ARGS] });
  }
  return running ?? startedBrowser();
}

/** Opens a page with a profile of its own; the caller closes it. */
export async function launchBrowser(
  viewport: { readonly width: number; readonly height: number },
  colorScheme: "light" | "dark" = "light",
): Promise<Browser> {
  const context = await (await startedBrowser()).newContext({ viewport, colorScheme });
  return { page: await context.newPage(), close: () => context.close() };
}

/**
 * Opens a URL; resolves when the document and all that it names are loaded.
 *
 * @throws an error that lists every request that failed
 */
export async function visit(page: Page, url: string): Promise<void> {
  await load(page, () => page.goto(url));
}

/** Loads the page again, as `visit` does. */
export async function reload(page: Page): Promise<void> {
  await load(page, () => page.reload());
}

async function load(page: Page, navigate: () => Promise<unknown>): Promise<void> {
  const failed: string[] = [];
  const note = (request: Request): void => {
    const { errorText = "unknown" } = request.failure() ?? {};
    if (errorText !== GIVEN_UP) failed.push(`${request.url()}: ${errorText}`);
  };
  page.on("requestfailed", note);
  try {
    await navigate();
  } finally {
    page.off("requestfailed", note);
  }
  if (failed.length > 0) throw new Error(`the page is not loaded whole: ${failed.join("; ")}`);
}

/** Keeps how a page looks, for a person; returns where. */
export async function keepPicture(page: Page, name: string, options: { fullPage?: boolean } = {}): Promise<string> {
  const path = join(ARTEFACTS, `${name}.png`);
  mkdirSync(dirname(path), { recursive: true });
  await page.screenshot({ path, ...options });
  return path;
}
