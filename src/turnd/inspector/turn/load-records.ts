import { signal, type ReadonlySignal } from "@preact/signals";
import type { RawRecord } from "../../protocol/raw-records.ts";
import { turnd } from "../connection.ts";

/** What has been read of a file of a turn's output. */
export interface RecordsState {
  readonly records: readonly RawRecord[];
  readonly hasMore: boolean;
  readonly fault: string | undefined;
}

/** A file of a turn's output, read page by page from its beginning. */
export interface LoadedRecords {
  readonly state: ReadonlySignal<RecordsState>;
  loadMore(): void;
  /** Reads to the end: a search looks through everything. */
  loadAll(): void;
  close(): void;
}

const PAGE = 300;

/** @param upTo - a line that is read at once, with all before it */
export function loadRecords(turnId: string, source: "stdout" | "stderr", upTo = 1): LoadedRecords {
  const state = signal<RecordsState>({ records: [], hasMore: true, fault: undefined });
  const controller = new AbortController();
  let wanted = upTo;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    do {
      const { records } = state.value;
      const from = (records.at(-1)?.line ?? 0) + 1;
      const page = await turnd.records(turnId, { source, from, limit: PAGE, signal: controller.signal });
      state.value = { records: [...records, ...page.records], hasMore: page.has_more, fault: undefined };
    } while (state.value.hasMore && (state.value.records.at(-1)?.line ?? 0) < wanted);
  }

  function loadMore(): void {
    loading ??= load()
      .catch((error: unknown) => {
        if (controller.signal.aborted) return;
        state.value = { ...state.value, fault: error instanceof Error ? error.message : String(error) };
      })
      .finally(() => {
        loading = undefined;
      });
  }

  loadMore();
  return {
    state,
    loadMore,
    loadAll() {
      wanted = Infinity;
      if (state.value.hasMore) loadMore();
    },
    close: () => controller.abort(),
  };
}
