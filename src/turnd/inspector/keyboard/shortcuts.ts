import { isDialogOpen } from "../dialogs/open-dialog.ts";
import { shownTurns } from "../list/turn-list.ts";
import { goTo, route, TABS } from "../route.ts";

/** One shortcut, as the help shows it. */
export interface Shortcut {
  readonly keys: string;
  readonly does: string;
  run?(): void;
}

/** Shortcuts of the whole page, but while a reader types. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: "?", does: "shows this help", run: () => (isDialogOpen.value = "help") },
  { keys: "n", does: "starts a turn", run: () => (isDialogOpen.value = "new-turn") },
  { keys: "o", does: "opens a recording", run: () => (isDialogOpen.value = "recording") },
  { keys: "/", does: "searches the events, or the turns where none is shown", run: search },
  { keys: "t", does: "goes to the list of turns", run: () => focusOn(".turn-link[aria-current], .turn-link") },
  { keys: "e", does: "goes to the events", run: focusEvents },
  { keys: "]", does: "shows the next turn of the list", run: () => step(1) },
  { keys: "[", does: "shows the turn before it", run: () => step(-1) },
  { keys: "1", does: "shows the turn's events", run: () => showTab(0) },
  { keys: "2", does: "shows raw records beside their events", run: () => showTab(1) },
  { keys: "3", does: "shows the verdict", run: () => showTab(2) },
  { keys: "4", does: "shows what the turn changed", run: () => showTab(3) },
  { keys: "s", does: "steers the turn, or continues its session", run: () => focusOn("#composer") },
  { keys: "c", does: "goes to the button that cancels the turn", run: () => focusOn("#cancel-turn") },
  { keys: "↑ ↓ or k j", does: "move through a list; Home and End to its ends" },
  { keys: "Enter", does: "shows an event's raw record and fields, or opens a turn" },
  { keys: "Ctrl+Enter", does: "sends what was typed" },
  { keys: "Esc", does: "leaves a field or a dialog" },
];

/** Runs shortcuts from now on. @returns what ends that */
export function listenToKeys(): () => void {
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  if (isTyping(target)) {
    if (event.key === "Escape" && target instanceof HTMLElement) target.blur();
    return;
  }
  // The browser closes a dialog a moment before its event.
  if (document.querySelector("dialog[open]") !== null) return;
  const shortcut = SHORTCUTS.find(({ keys, run }) => keys === event.key && run !== undefined);
  if (shortcut?.run === undefined) return;
  event.preventDefault();
  shortcut.run();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && target.type !== "range")
  );
}

function search(): void {
  focusOn(route.value.turnId === undefined ? "#list-search" : "#event-search, .event-tools input");
}

function focusEvents(): void {
  focusOn('.virtual article[tabindex="0"], .virtual article');
}

function focusOn(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

function step(by: number): void {
  const at = shownTurns.value.findIndex(({ turn_id: id }) => id === route.value.turnId);
  const turn = shownTurns.value[at === -1 ? 0 : at + by];
  if (turn !== undefined) goTo(turn.turn_id);
}

function showTab(index: number): void {
  const { turnId } = route.value;
  if (turnId !== undefined) goTo(turnId, TABS[index]);
}
