import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { ARTEFACTS, BROWSER_ARGS, CHROMIUM } from "../../harness/terminal-page.ts";

export const PHONE = { width: 360, height: 740 };
export const DESK = { width: 1_100, height: 900 };

/** A browser of its own; fails the test for a fault of a page and for a request to elsewhere. */
export async function openBrowser(base: string, viewport = PHONE): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), "svc-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: [...BROWSER_ARGS],
    viewport,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) faults.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("data:")) faults.push(`asked for ${url}`);
  });
  onTestFinished(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
    expect(faults).toEqual([]);
  });
  return page;
}

/** Keeps how a page looks, for a person. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: true });
}
