import type { Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { keepPicture, launchBrowser } from "../../harness/browser.ts";

export const PHONE = { width: 360, height: 740 };
export const DESK = { width: 1_100, height: 900 };

/** A browser of its own; fails the test for a fault of a page and for a request to elsewhere. */
export async function openBrowser(base: string, viewport = PHONE): Promise<Page> {
  const { page, close } = await launchBrowser(viewport);
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
    await close();
    expect(faults).toEqual([]);
  });
  return page;
}

/** Keeps how a page looks, for a person. */
export async function picture(page: Page, name: string): Promise<void> {
  await keepPicture(page, name, { fullPage: true });
}
