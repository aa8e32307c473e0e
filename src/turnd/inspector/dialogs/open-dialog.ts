import { signal } from "@preact/signals";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { Session } from "../../protocol/sessions.ts";

/** Which dialog is open; at most one is. */
export type OpenDialog =
  | undefined
  | "help"
  | "new-turn"
  | "recording"
  | { readonly newTurnIn: Pick<Tolerant<Session>, "session_id" | "executor"> }
  | { readonly command: string };
export const isDialogOpen = signal<OpenDialog>(undefined);

/** Files of a reader's disk, as they are being listed. */
export type DroppedFiles = Promise<readonly { readonly path: string; readonly file: File }[]>;
/** What was dropped on the page and is not opened yet. */
export const dropped = signal<DroppedFiles | undefined>(undefined);

/** The notice that is shown for a moment. */
export const notice = signal<{ readonly text: string; readonly isFault: boolean } | undefined>(undefined);

const SHOWN_MS = 6_000;
/** A fault is shown longer: it is read, and perhaps written down. */
const FAULT_SHOWN_MS = 60_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a success. */
export function showNotice(text: string): void {
  show({ text, isFault: false });
}

/** Shows a fault. */
export function showFault(error: unknown): void {
  show({ text: error instanceof Error ? error.message : String(error), isFault: true });
}

function show(shown: { readonly text: string; readonly isFault: boolean }): void {
  notice.value = shown;
  clearTimeout(timer);
  timer = setTimeout(hideNotice, shown.isFault ? FAULT_SHOWN_MS : SHOWN_MS);
}

/** Removes the notice. */
export function hideNotice(): void {
  clearTimeout(timer);
  notice.value = undefined;
}
