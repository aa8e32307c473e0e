import { join } from "node:path";
import type { Logger } from "pino";
import { defined } from "../../../kit/defined.ts";
import { ProblemError } from "../../protocol/index.ts";
import { readEvents } from "../event-log/read-events.ts";
import { exportRecording } from "../replay/export.ts";
import { RecordingError } from "../replay/recording-error.ts";
import { readRecordedInput } from "../replay/recording.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import { openDiff } from "./store/read-diff.ts";
import type { Finder } from "./find-turns.ts";
import type { TurnLimits } from "./lifecycle/limits.ts";
import { readTurnFile } from "./lifecycle/turn-file.ts";
import { hasEnded } from "./lifecycle/turn.ts";
import type { Executors } from "./executors/executors.ts";
import { identifyLines } from "./replay/identify-output.ts";
import { readResult } from "./replay/read-result.ts";
import type { Tidying } from "./run/tidying.ts";
import { OUTPUT } from "./store/output-files.ts";
import {
  readSessionPageCursor,
  readTurnCursor,
  writeSessionPageCursor,
  writeTurnCursor,
} from "./store/page-cursors.ts";
import { readRecords } from "./store/raw-records.ts";
import type { SecretBook } from "./store/secret-book.ts";
import { readSessionEvents } from "./store/session-events.ts";
import type { TurnStore } from "./store/turn-store.ts";
import type { TurnService } from "./turn-service.ts";

export interface ReadParts {
  readonly executors: Executors;
  readonly limits: Pick<TurnLimits, "maxLineBytes">;
  readonly sessions: Pick<SessionStore, "page">;
  readonly store: TurnStore;
  readonly finder: Finder;
  readonly secrets: Pick<SecretBook, "redactorOf">;
  readonly tidying: Pick<Tidying, "settled">;
  readonly now: () => Date;
  readonly logger: Logger;
}

/** What of the service only looks: turns and sessions, their files, and their events as they come. */
export type TurnReads = Pick<
  TurnService,
  | "identifyOutput"
  | "readInput"
  | "readRecords"
  | "exportRecording"
  | "openDiff"
  | "listTurns"
  | "endOfEvents"
  | "getTurn"
  | "getResult"
  | "waitForEnd"
  | "findRequest"
  | "readEvents"
  | "findSessionEvents"
  | "listSessions"
  | "getSession"
>;

/** What is long, or may hold secrets. */
const NOT_SHOWN = ["output_schema", "mcp_servers", "instructions"] as const;

export function createTurnReads(parts: ReadParts): TurnReads {
  const { sessions, store, secrets, tidying } = parts;
  const { find, findEnded, findRequest, findSession, snapshot, toSession } = parts.finder;
  return {
    identifyOutput(lines) {
      const executors = [...parts.executors.values()].map(({ executor }) => executor);
      try {
        return identifyLines(lines, { name: "the output", executors, advice: "choose the CLI" }).executor;
      } catch (error) {
        throw error instanceof RecordingError ? new ProblemError("invalid_request", error.message) : error;
      }
    },
    async readInput(turnId) {
      const { directory, file: known } = find(turnId);
      const text = (await readRecordedInput(directory)) ?? "";
      // Of an ended turn, memory may hold less.
      const file = (await readTurnFile(directory)) ?? known;
      const { agent, effort, permissions, diff } = file;
      const notShown = NOT_SHOWN.filter((name) => file[name] !== undefined);
      return {
        turn_id: turnId,
        text: secrets.redactorOf(file.session_id)(text),
        images: file.images.length,
        ...defined({ agent, effort, permissions, diff }),
        ...(notShown.length === 0 ? {} : { not_shown: notShown }),
      };
    },
    async readRecords(turnId, { source, ...range }) {
      const { directory, file } = find(turnId);
      const redact = secrets.redactorOf(file.session_id);
      return { turn_id: turnId, source, ...(await readRecords(join(directory, OUTPUT[source]), range, redact)) };
    },
    exportRecording(turnId) {
      const { directory, file } = findEnded(turnId);
      return exportRecording(directory, secrets.redactorOf(file.session_id));
    },
    async openDiff(turnId) {
      const turn = findEnded(turnId);
      // It is written after the turn's end.
      await turn.finished;
      await tidying.settled(turn.file.session_id);
      return openDiff(turn);
    },
    listTurns({ cursor, ...page }) {
      const before = cursor === undefined ? undefined : readTurnCursor(cursor);
      const { turns, next } = store.page({ ...page, before });
      return { turns: turns.map(snapshot), ...defined({ next_cursor: next && writeTurnCursor(next) }) };
    },
    endOfEvents(sessionId) {
      const lastSeqs = new Map(store.liveOfSession(sessionId).map(({ file, tail }) => [file.turn_id, tail.lastSeq()]));
      const [newestTurnId] = store.turnIds(sessionId, 1);
      return { lastSeqs, ...defined({ newestTurnId }) };
    },
    getTurn: (turnId) => snapshot(find(turnId)),
    async getResult(turnId, { isExplained = false } = {}) {
      const turn = findEnded(turnId);
      const redact = secrets.redactorOf(turn.file.session_id);
      const named = parts.logger.child({ sessionId: turn.file.session_id });
      return readResult({ ...parts, redact, logger: named }, turn, { isExplained });
    },
    async waitForEnd(turnId, signal) {
      const turn = find(turnId);
      if (hasEnded(turn)) return true;
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (!signal.aborted) await Promise.race([turn.finished, promise]);
      return hasEnded(turn);
    },
    findRequest,
    readEvents(turnId, options) {
      const turn = find(turnId);
      return readEvents(join(turn.directory, "events.jsonl"), {
        ...options,
        ...(turn.tail.isEnded() ? {} : { tail: turn.tail }),
      });
    },

    findSessionEvents(sessionId, cursor) {
      findSession(sessionId);
      const turn = cursor === undefined ? undefined : store.get(cursor.turnId);
      if (cursor !== undefined && turn?.file.session_id !== sessionId) {
        throw new ProblemError("bad_cursor", `session ${sessionId} has no turn ${cursor.turnId}`);
      }
      const lastSeq = turn?.tail.lastSeq() ?? 0;
      if (cursor !== undefined && cursor.seq > lastSeq) {
        const message = `the cursor ${cursor.turnId}:${cursor.seq} is beyond the turn's last event, ${lastSeq}`;
        throw new ProblemError("cursor_beyond_end", message, { turn_id: cursor.turnId, last_seq: lastSeq });
      }
      return (options) => readSessionEvents(store, sessionId, cursor, options);
    },
    listSessions({ cursor, limit }) {
      const before = cursor === undefined ? undefined : readSessionPageCursor(cursor);
      const found = sessions.page({ before, limit: limit + 1 });
      const page = found.slice(0, limit);
      // Of the others it is not known yet whether they are still there.
      const shown = page.filter(({ session_id: id }) => store.isSessionTrusted(id));
      const last = found.length > limit ? page.at(-1) : undefined;
      const next = last && writeSessionPageCursor({ createdAt: last.created_at, sessionId: last.session_id });
      return { sessions: shown.map(toSession), ...defined({ next_cursor: next }) };
    },
    getSession: (sessionId) => toSession(findSession(sessionId)),
  };
}
