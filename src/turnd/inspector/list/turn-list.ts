import { computed, signal } from "@preact/signals";
import type { Session } from "../../protocol/sessions.ts";
import { ProblemError } from "../../protocol/problems.ts";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot, TurnStatus } from "../../protocol/turns.ts";
import { TurndUnreachable } from "../../client/errors.ts";
import { login, turnd } from "../connection.ts";
import { showFault } from "../dialogs/open-dialog.ts";
import { isPageSeen } from "../page-visibility.ts";
import { NO_TURNS, mergeNewest, addOlder, updateOne } from "./known-turns.ts";

/** A session with its turns, newest first. */
export interface ListedSession {
  readonly session: Pick<Tolerant<Session>, "session_id" | "executor">;
  /** Those that are known and that the filter leaves. */
  readonly turns: readonly Tolerant<TurnSnapshot>[];
  /** Of its last turn, or of itself. */
  readonly changedAt: string;
}

const PERIOD_MS = 2_000;
/** While the page is not seen: its title says what runs. */
const UNSEEN_PERIOD_MS = 10_000;
/** Read anew each time. */
const NEWEST = 100;
/** Added each time that a reader asks for older ones. */
const OLDER = 200;
/** The same for a search, which goes on until something is found. */
const SEARCHED = 1_000;

const known = signal(NO_TURNS);
/** Of the chosen status; the newest are as they were seconds ago. */
export const turns = computed(() => known.value.turns);
const sessions = signal<readonly Tolerant<Session>[]>([]);
/** Whether anything has been read yet, and what keeps it from being read now. */
export const listState = signal<{ readonly isLoaded: boolean; readonly fault: string | undefined }>({
  isLoaded: false,
  fault: undefined,
});
export const search = signal("");
export const statusFilter = signal<TurnStatus | "all">("all");
/** Whether turnd has turns that are older than those that are known, and whether they are being read. */
export const hasMore = computed(() => known.value.cursor !== undefined);
export const isReadingOlder = signal(false);

const words = computed(() => search.value.toLowerCase().split(/\s+/).filter(Boolean));
const wanted = computed(() => turns.value.filter(isWanted));

/** Sessions by their last change, with those of their turns that the filter leaves. */
export const listed = computed<readonly ListedSession[]>(() => {
  const bySession = Map.groupBy(wanted.value, (turn) => turn.session_id);
  const withTurns = [...bySession.entries()].map(([id, own]): ListedSession => {
    const executor = own[0]?.executor ?? "";
    return { session: { session_id: id, executor }, turns: own, changedAt: own[0]?.created_at ?? "" };
  });
  return [...withTurns, ...emptySessions()].toSorted((one, other) => other.changedAt.localeCompare(one.changedAt));
});

/** The turns in the order in which they are shown. */
export const shownTurns = computed(() => listed.value.flatMap((entry) => entry.turns));

/** Those that have no turn at all; of the time that is listed. */
function emptySessions(): readonly ListedSession[] {
  if (words.value.length > 0 || statusFilter.value !== "all") return [];
  const since = hasMore.value ? (turns.value.at(-1)?.created_at ?? "") : "";
  return sessions.value
    .filter(({ turns: ids, created_at: createdAt }) => ids.length === 0 && createdAt >= since)
    .map((session) => ({ session, turns: [], changedAt: session.created_at }));
}

function isWanted(turn: Tolerant<TurnSnapshot>): boolean {
  if (statusFilter.value !== "all" && turn.status !== statusFilter.value) return false;
  const { turn_id: id, session_id: sessionId, executor, status, model = "", input_excerpt: prompt = "" } = turn;
  const text = `${id} ${sessionId} ${executor} ${status} ${model} ${prompt}`.toLowerCase();
  return words.value.every((word) => text.includes(word));
}

/** Lists only turns of one status, or all. */
export function filterByStatus(status: TurnStatus | "all"): void {
  statusFilter.value = status;
  known.value = NO_TURNS;
  listState.value = { ...listState.value, isLoaded: false };
  void refreshList();
}

/** Lists older turns too; where something is searched for, until one more matches. */
export async function showOlder(): Promise<void> {
  if (isReadingOlder.value) return;
  isReadingOlder.value = true;
  const status = statusFilter.value;
  const before = wanted.value.length;
  const limit = words.value.length > 0 ? SEARCHED : OLDER;
  try {
    do {
      const { cursor } = known.value;
      const page = await turnd.turnPage({ limit, cursor, status: queryOf(status) });
      if (status !== statusFilter.value) break;
      // Meanwhile the newest may have been read; what they have moved does not change what follows the cursor.
      known.value = addOlder(known.value, page);
    } while (wanted.value.length === before && hasMore.value);
  } catch (error) {
    showFault(error);
  }
  isReadingOlder.value = false;
}

let refreshing: Promise<void> | undefined;

/** Reads the list now; one that is being read already is waited for. */
export function refreshList(): Promise<void> {
  refreshing ??= read().finally(() => {
    refreshing = undefined;
  });
  return refreshing;
}

async function read(): Promise<void> {
  try {
    for (;;) {
      const status = statusFilter.value;
      const [page, newest] = await Promise.all([
        turnd.turnPage({ limit: NEWEST, status: queryOf(status) }),
        turnd.sessions({ limit: NEWEST }),
      ]);
      if (status !== statusFilter.value) continue;
      known.value = mergeNewest(known.value, page);
      sessions.value = newest;
      listState.value = { isLoaded: true, fault: undefined };
      await refreshUnended(new Set(page.turns.map(({ turn_id: id }) => id)));
      return;
    }
  } catch (error) {
    // The login shows its own fault.
    const fault = login.value === "expired" ? undefined : describeFault(error);
    listState.value = { ...listState.value, fault };
  }
}

/** Of those that are not among the newest any more, the ones that may still change. */
async function refreshUnended(newest: ReadonlySet<string>): Promise<void> {
  for (const { turn_id: id, ended_at: endedAt } of turns.value) {
    if (endedAt === undefined && !newest.has(id)) known.value = updateOne(known.value, id, await find(id));
  }
}

async function find(id: string): Promise<Tolerant<TurnSnapshot> | undefined> {
  try {
    return await turnd.turn(id);
  } catch (error) {
    if (error instanceof ProblemError && error.code === "turn_not_found") return undefined;
    throw error;
  }
}

function queryOf(status: TurnStatus | "all"): TurnStatus | undefined {
  return status === "all" ? undefined : status;
}

function describeFault(error: unknown): string {
  if (error instanceof TurndUnreachable) return "turnd does not answer. Trying again …";
  return error instanceof Error ? error.message : String(error);
}

/** Reads the list again and again, less often while the page is not seen. @returns what ends that */
export function watchList(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  async function tick(): Promise<void> {
    clearTimeout(timer);
    if (login.value !== "expired") await refreshList();
    if (isStopped) return;
    clearTimeout(timer);
    timer = setTimeout(() => void tick(), isPageSeen.value ? PERIOD_MS : UNSEEN_PERIOD_MS);
  }
  const stop = isPageSeen.subscribe(() => void tick());
  return () => {
    isStopped = true;
    stop();
    clearTimeout(timer);
  };
}
