import type { StateIndex } from "../../state-index/state-index.ts";

/** Changes of an index, in their order. */
export interface IndexWrites {
  add(change: () => void): void;
  /** Writes what was kept back. */
  finish(): void;
}

/** Each change by itself copies a page of every table that it touches. */
const AT_ONCE = 1_000;

/** Writes many changes at once where an index is made anew, since nothing is served from it before; others at once. */
export function createIndexWrites(index: Pick<StateIndex, "outdated" | "atOnce">): IndexWrites {
  let kept: (() => void)[] = [];

  function finish(): void {
    const due = kept;
    kept = [];
    index.atOnce(() => {
      for (const change of due) change();
    });
  }

  return {
    add(change) {
      if (index.outdated === undefined) return change();
      if (kept.push(change) >= AT_ONCE) finish();
    },
    finish() {
      if (kept.length > 0) finish();
    },
  };
}
