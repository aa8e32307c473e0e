import type { History } from "../../protocol/threads.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Queries } from "../../storage/transaction.ts";
import { findThread } from "../../threads/threads.ts";
import { listRuns, type RunDetails } from "./find-runs.ts";

export interface HistoryPage {
  /** A run: only messages before it. */
  readonly before?: string | undefined;
  /** Messages; the newest run's are given even where they are more, since a page never parts what belongs to one run. */
  readonly limit: number;
}

/** Runs of one query, at least. */
const LEAST_RUNS = 50;

/**
 * The messages, oldest first: the newest page, or the one before a run.
 *
 * A page is empty only where there are no messages before it: its oldest message is the cursor to the next, so runs without a
 * text are skipped.
 */
export async function readHistory(db: Queries, caller: Caller, threadId: string, page: HistoryPage): Promise<History> {
  const thread = await findThread(db, caller.userId, threadId);
  const limit = Math.max(LEAST_RUNS, Math.ceil(page.limit / 2));
  const filter = { userId: caller.userId, threadPk: thread.pk, isAsActed: true, limit };
  const messages: History["messages"] = [];
  for (let { before } = page; ;) {
    const runs = await listRuns(db, { ...filter, before });
    for (const details of runs) {
      const found = messagesOf(details);
      if (messages.length > 0 && messages.length + found.length > page.limit) return { messages };
      messages.unshift(...found);
    }
    before = runs.at(-1)?.run.id;
    if (runs.length < limit || messages.length >= page.limit) return { messages };
  }
}

function messagesOf({ run, request }: RunDetails): History["messages"] {
  const common = { run_id: run.id, request_id: request.request_id, status: run.status };
  return [
    ...(request.query === ""
      ? []
      : [{ role: "user" as const, content: request.query, ...common, created_at: request.created_at.toISOString() }]),
    ...(run.output === null || run.output === "" || run.ended_at === null
      ? []
      : [{ role: "assistant" as const, content: run.output, ...common, created_at: run.ended_at.toISOString() }]),
  ];
}
