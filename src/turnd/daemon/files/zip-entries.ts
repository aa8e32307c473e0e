import { setTimeout as delay } from "node:timers/promises";
import type { ZipFile } from "yazl";

/** As yazl numbers it: the entry's bytes have left. */
const FILE_DATA_DONE = 3;

/** The entries of a zip that is being written, those that are done out of yazl's way. */
export interface ZipEntries {
  /** Takes away what is done, and waits while too much is not. To be called before an entry is added. */
  makeRoom(): Promise<void>;
  /** Puts all back in their order, for the directory at the zip's end. */
  putBack(): void;
}

/** Directories behind a file that is still compressed: yazl begins each of them within the one before. */
const MOST_OPEN = 100;
/** yazl reports no entry's end. */
const LOOK_MS = 5;

/**
 * Keeps a zip of many entries from taking the square of their number, and from ending turnd.
 *
 * At each step yazl looks through all of its entries for the first that is not done: 66 000 directories took a minute of turnd's
 * one thread. And it begins each entry that is ready within the one before: 20 000 directories behind a file that a slow reader
 * held up were a stack overflow that nothing catches.
 *
 * @param isWanted - false where the zip has no reader any more
 * Remove when a yazl after 3.3.1 remembers where it stands.
 */
export function watchEntries(zip: ZipFile, isWanted: () => boolean): ZipEntries {
  const entries: unknown = Reflect.get(zip, "entries");
  if (!isEntries(entries)) throw new Error("yazl keeps its entries elsewhere");
  const done: { readonly state: number }[] = [];
  return {
    async makeRoom() {
      for (;;) {
        const open = entries.findIndex(({ state }) => state < FILE_DATA_DONE);
        for (const entry of entries.splice(0, open === -1 ? entries.length : open)) done.push(entry);
        if (entries.length <= MOST_OPEN || !isWanted()) return;
        await delay(LOOK_MS);
      }
    },
    putBack() {
      const open = entries.splice(0);
      for (const entry of [...done, ...open]) entries.push(entry);
    },
  };
}

function isEntries(value: unknown): value is { readonly state: number }[] {
  return Array.isArray(value);
}
