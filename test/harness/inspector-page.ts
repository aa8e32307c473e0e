import type { Page } from "playwright-core";
import { keepPicture, launchBrowser, visit } from "./browser.ts";

/** A browser's remark on each page of plain HTTP from another host; the header is for those who come by HTTPS. */
const IGNORED_HEADER = "The Cross-Origin-Opener-Policy header has been ignored";
/** What turnd refused on purpose is in the page itself. */
const FAILED_REQUEST = "Failed to load resource";

/** The inspector in a headless browser. */
export interface InspectorPage {
  readonly page: Page;
  /** Keeps a picture, for a person; returns where. */
  picture(name: string): Promise<string>;
  /** @throws {Error} for what the page, or its policy, has complained of meanwhile */
  close(): Promise<void>;
}

/** How the page is seen. */
export interface Looks {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
}

/** Opens the inspector of a turnd, in a browser of its own. */
export async function openInspector(url: string, looks: Looks = {}): Promise<InspectorPage> {
  const { width = 1280, height = 800, scheme = "light" } = looks;
  const { page, close } = await launchBrowser({ width, height }, scheme);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    const text = message.text();
    const harmless = text.startsWith(FAILED_REQUEST) || text.startsWith(IGNORED_HEADER);
    // What the page's policy refused is a fault.
    if (message.type() === "error" && !harmless) faults.push(text);
  });
  // Nothing may come from anywhere else.
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !/^(blob|about|data):/.test(request.url())) faults.push(request.url());
  });
  await visit(page, url);
  return {
    page,
    picture: (name) => keepPicture(page, name),
    async close() {
      await close();
      if (faults.length > 0) throw new Error(`the page failed: ${faults.join("; ")}`);
    },
  };
}
