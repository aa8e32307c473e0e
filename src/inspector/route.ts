import { signal } from "@preact/signals";

/** Which part of a turn is shown. */
export const TABS = ["events", "raw", "verdict"] as const;
export type Tab = (typeof TABS)[number];

/** What the page shows, as its address says it: `#/turns/<id>/<tab>`. */
export interface Route {
  readonly turnId: string | undefined;
  readonly tab: Tab;
  /** A line of raw output to be shown first: `#/turns/<id>/raw/<line>`. */
  readonly line: number | undefined;
}

function readRoute(): Route {
  const [, id, tab, line] = /^#\/turns\/([^/]+)(?:\/([a-z]+)(?:\/(\d+))?)?$/.exec(location.hash) ?? [];
  return {
    turnId: id === undefined ? undefined : decodeURIComponent(id),
    tab: TABS.find((known) => known === tab) ?? "events",
    line: line === undefined ? undefined : Number(line),
  };
}

export const route = signal<Route>(readRoute());
window.addEventListener("hashchange", () => {
  route.value = readRoute();
});

/** The address of a turn within the page. */
export function turnHref(turnId: string, tab: Tab = "events", line?: number): string {
  const more = tab === "events" ? "" : `/${tab}${line === undefined ? "" : `/${line}`}`;
  return `#/turns/${encodeURIComponent(turnId)}${more}`;
}

/** Shows a turn, or the list alone. */
export function goTo(turnId: string | undefined, tab: Tab = "events"): void {
  location.hash = turnId === undefined ? "#/" : turnHref(turnId, tab);
}
