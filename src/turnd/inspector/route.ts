import { signal } from "@preact/signals";

/** Which part of a turn is shown. */
export const TABS = ["events", "raw", "verdict", "diff"] as const;
export type Tab = (typeof TABS)[number];

/** What the page shows, as its address says it: `#/turns/<id>/<tab>`. */
export interface Route {
  readonly turnId: string | undefined;
  readonly tab: Tab;
  /** The place to show first: an event's `seq` (`#/turns/<id>/events/<seq>`), or a line of raw output (`…/raw/<line>`). */
  readonly place: number | undefined;
}

function readRoute(): Route {
  const [, id, tab, place] = /^#\/turns\/([^/]+)(?:\/([a-z]+)(?:\/(\d{1,15}))?)?$/.exec(location.hash) ?? [];
  return {
    turnId: id === undefined ? undefined : decode(id),
    tab: TABS.find((known) => known === tab) ?? "events",
    place: place === undefined ? undefined : Number(place),
  };
}

/** An address that was cut off in the middle of a character stays as it is: turnd answers that there is no such turn. */
function decode(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

export const route = signal<Route>(readRoute());
window.addEventListener("hashchange", () => {
  route.value = readRoute();
});

/** The address of a turn within the page. */
export function turnHref(turnId: string, tab: Tab = "events", place?: number): string {
  const more = tab === "events" && place === undefined ? "" : `/${tab}${place === undefined ? "" : `/${place}`}`;
  return `#/turns/${encodeURIComponent(turnId)}${more}`;
}

/** Shows a turn, or only the list. */
export function goTo(turnId: string | undefined, tab: Tab = "events"): void {
  location.hash = turnId === undefined ? "#/" : turnHref(turnId, tab);
}

/** Browsers refuse more than some hundred changes of the address in a short time. */
const KEEP_MS = 300;
let keptAtMs = -Infinity;
let keeping: ReturnType<typeof setTimeout> | undefined;

/**
 * Keeps the place of a reader in the address, so that going back, loading again and sending the address lead there. It shows
 * nothing else by itself.
 */
export function keepPlace(turnId: string, tab: Tab, place: number): void {
  clearTimeout(keeping);
  const keep = (): void => {
    const now = readRoute();
    // The reader may have gone on meanwhile.
    if (now.turnId !== turnId || now.tab !== tab || now.place === place) return;
    keptAtMs = performance.now();
    history.replaceState(history.state, "", turnHref(turnId, tab, place));
  };
  const waitMs = keptAtMs + KEEP_MS - performance.now();
  if (waitMs <= 0) keep();
  else keeping = setTimeout(keep, waitMs);
}
