declare module "@joplin/turndown-plugin-gfm" {
  import type TurndownService from "turndown";
  /** Tables, strikethrough, task lists. */
  export const gfm: TurndownService.Plugin;
}

// The trees of linkedom, readability and turndown. The types of browsers are not loaded here.
interface HTMLElement {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly outerHTML: string;
  getAttribute(name: string): string | null;
  removeAttribute(name: string): void;
  remove(): void;
}

interface Document {
  readonly body: HTMLElement | null;
  querySelector(selector: string): HTMLElement | null;
  querySelectorAll(selector: string): Iterable<HTMLElement>;
}

interface Window {
  readonly document: Document;
}
