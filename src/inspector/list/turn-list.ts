import { computed, signal } from "@preact/signals";
import type { Session } from "../../protocol/sessions.ts";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { TurndUnreachable } from "../../client/errors.ts";
import { login, turnd } from "../connection.ts";
import { isPageSeen } from "../page-visibility.ts";

/** A session with its turns, newest first. */
export interface ListedSession {
  readonly session: Tolerant<Session>;
  readonly turns: readonly Tolerant<TurnSnapshot>[];
  /** Of its last turn, or of itself. */
  readonly changedAt: string;
}

const PERIOD_MS = 2_000;
/** While the page is not seen: its title says what runs. */
const UNSEEN_PERIOD_MS = 10_000;
const FIRST_LIMIT = 100;
const MOST = 5_000;
const PAGE = 1_000;

export const turns = signal<readonly Tolerant<TurnSnapshot>[]>([]);
export const sessions = signal<readonly Tolerant<Session>[]>([]);
/** Whether anything has been read yet, and what keeps it from being read now. */
export const listState = signal<{ readonly isLoaded: boolean; readonly fault: string | undefined }>({
  isLoaded: false,
  fault: undefined,
});
export const search = signal("");
export const statusFilter = signal<TurnSnapshot["status"] | "all">("all");
const limit = signal(FIRST_LIMIT);

/** Whether turnd may have more turns than are listed. */
export const hasMore = computed(() => turns.value.length >= limit.value && limit.value < MOST);

/** Sessions by their last change, with those of their turns that the filter leaves. */
export const listed = computed<readonly ListedSession[]>(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isFiltered = words.length > 0 || statusFilter.value !== "all";
  const bySession = Map.groupBy(
    turns.value.filter((turn) => isWanted(turn, words)),
    (turn) => turn.session_id,
  );
  return sessions.value
    .map((session) => {
      const own = bySession.get(session.session_id) ?? [];
      return { session, turns: own, changedAt: own[0]?.created_at ?? session.created_at };
    })
    .filter((entry) => !isFiltered || entry.turns.length > 0)
    .toSorted((one, other) => other.changedAt.localeCompare(one.changedAt));
});

/** The turns in the order in which they are shown. */
export const shownTurns = computed(() => listed.value.flatMap((entry) => entry.turns));

function isWanted(turn: Tolerant<TurnSnapshot>, words: readonly string[]): boolean {
  if (statusFilter.value !== "all" && turn.status !== statusFilter.value) return false;
  const { turn_id: id, session_id: sessionId, executor, status, model = "", input_excerpt: prompt = "" } = turn;
  const text = `${id} ${sessionId} ${executor} ${status} ${model} ${prompt}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Lists more turns from now on. */
export function showMore(): void {
  limit.value = Math.min(MOST, limit.value * 3);
  void refreshList();
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
    const [newTurns, newSessions] = await Promise.all([readTurns(limit.value), turnd.sessions()]);
    turns.value = newTurns;
    sessions.value = newSessions;
    listState.value = { isLoaded: true, fault: undefined };
  } catch (error) {
    // What a login helps with, the login says.
    const fault = login.value === "expired" ? undefined : describeFault(error);
    listState.value = { ...listState.value, fault };
  }
}

function describeFault(error: unknown): string {
  if (error instanceof TurndUnreachable) return "turnd does not answer. Trying again …";
  return error instanceof Error ? error.message : String(error);
}

async function readTurns(wanted: number): Promise<readonly Tolerant<TurnSnapshot>[]> {
  const found: Tolerant<TurnSnapshot>[] = [];
  for await (const turn of turnd.eachTurn({ limit: Math.min(PAGE, wanted) })) {
    found.push(turn);
    if (found.length >= wanted) break;
  }
  return found;
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
