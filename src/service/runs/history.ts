import type { History } from "../api/threads.ts";
import type { Caller } from "../auth/caller.ts";
import type { Queries } from "../storage/transaction.ts";
import { findThread } from "../threads/threads.ts";
import { inputText, listRuns, type RunDetails } from "./views.ts";

export interface HistoryPage {
  /** A run: only what was said before it. */
  readonly before?: string | undefined;
  /** Messages; the newest run's are given even where they are more, since a page never parts what belongs to one run. */
  readonly limit: number;
}

/** What was said, oldest first: the newest page, or the one before a run. */
export async function readHistory(db: Queries, caller: Caller, threadId: string, page: HistoryPage): Promise<History> {
  const thread = await findThread(db, caller.userId, threadId);
  const filter = {
    userId: caller.userId,
    threadPk: thread.pk,
    before: page.before,
    isAsActed: true,
    limit: Math.ceil(page.limit / 2),
  };
  const messages: History["messages"] = [];
  for (const details of await listRuns(db, filter)) {
    const said = messagesOf(details);
    if (messages.length > 0 && messages.length + said.length > page.limit) break;
    messages.unshift(...said);
  }
  return { messages };
}

function messagesOf({ run, request }: RunDetails): History["messages"] {
  const common = { run_id: run.id, request_id: request.request_id, status: run.status };
  const said = inputText(request);
  return [
    ...(said === ""
      ? []
      : [{ role: "user" as const, content: said, ...common, created_at: request.created_at.toISOString() }]),
    ...(run.output === null || run.output === "" || run.ended_at === null
      ? []
      : [{ role: "assistant" as const, content: run.output, ...common, created_at: run.ended_at.toISOString() }]),
  ];
}
