import { once } from "node:events";
import { text as readText } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import PQueue from "p-queue";
import type { FindBody, Found } from "../../protocol/knowledge-queries.ts";
import { ApiProblem, InputProblem } from "../../protocol/problems.ts";
import { createShares } from "../../protocol/shares.ts";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../state/access.ts";
import { findParsed } from "./files.ts";
import type { Findings, Search } from "./find-lines.ts";
import type { FindAnswer } from "./find-worker.ts";

/** Who waits for an answer. */
export interface Asker {
  readonly userId: number;
  readonly signal: AbortSignal;
}

/** Finds lines in files. */
export interface Finder {
  /**
   * @param asker - whose share of the threads it takes; at the signal it is dropped, or its thread ended
   * @throws {ApiProblem} file_not_found, file_not_parsed, pattern_invalid, pattern_too_expensive, too_many_searches, or the
   *   signal's reason
   */
  find(base: BaseRow, fileId: string, body: FindBody, asker: Asker): Promise<Found>;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** Threads of one process. */
const THREADS = 2;
const SEARCH_MS = 2_000;
const START_MS = 30_000;
const HEAP_MEGABYTES = 512;
const PATTERNS = ["body", "patterns"];

export interface FinderOptions {
  readonly storage: Storage;
  readonly objects: Objects;
  /** Searches of a user, running and waiting. */
  readonly mostOfOne: number;
}

export function createFinder({ storage, objects, mostOfOne }: FinderOptions): Finder {
  const places = new PQueue({ concurrency: THREADS });
  const shares = createShares({ most: Infinity, mostOfOne, code: "too_many_searches", what: "searches" });
  const ofUsers = new Map<number, { readonly queue: PQueue; asked: number }>();
  const idle: Worker[] = [];
  const all = new Set<Worker>();

  /** A thread that is ready to search: what its start takes is no part of a search. */
  async function start(): Promise<Worker> {
    const worker = new Worker(new URL("./find-worker.ts", import.meta.url), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    });
    all.add(worker);
    worker.once("exit", () => {
      all.delete(worker);
      const place = idle.indexOf(worker);
      if (place !== -1) idle.splice(place, 1);
    });
    try {
      await once(worker, "message", { signal: AbortSignal.timeout(START_MS) });
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    worker.unref();
    return worker;
  }

  /** One user's searches are one after the other: however many there are, another's waits for one of them at most. */
  async function inTurn<T>({ userId, signal }: Asker, search: () => Promise<T>): Promise<T> {
    const end = shares.take(userId);
    const own = ofUsers.get(userId) ?? { queue: new PQueue({ concurrency: 1 }), asked: 0 };
    ofUsers.set(userId, own);
    own.asked += 1;
    try {
      return await own.queue.add(() =>
        places.add(async () => {
          // Nobody waits for it any more.
          signal.throwIfAborted();
          return search();
        }),
      );
    } finally {
      own.asked -= 1;
      if (own.asked === 0) ofUsers.delete(userId);
      end();
    }
  }

  async function ask(search: Search, signal: AbortSignal): Promise<Findings> {
    const worker = idle.pop() ?? (await start());
    const { promise, resolve, reject } = Promise.withResolvers<FindAnswer>();
    const onExit = (): void => reject(new Error("the thread that searches ended"));
    const onError = (error: Error): void => {
      const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
      reject(isMemory ? new InputProblem("pattern_too_expensive", PATTERNS, "the search took too much memory") : error);
    };
    const timer = setTimeout(
      () => reject(new InputProblem("pattern_too_expensive", PATTERNS, `the search took more than ${SEARCH_MS} ms`)),
      SEARCH_MS,
    );
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    worker.once("message", resolve).once("error", onError).once("exit", onExit);
    try {
      // It may have begun before this one had a thread.
      signal.throwIfAborted();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(search);
      const answer = await promise;
      if (answer.ok) return answer.findings;
      if (answer.kind === "pattern") throw new InputProblem("pattern_invalid", PATTERNS, answer.message);
      throw new Error(answer.message);
    } catch (error) {
      // A thread that did not answer in time may never; one whose answer nobody reads works for nobody.
      const isLeft = error instanceof ApiProblem && error.code === "pattern_too_expensive";
      if (isLeft || signal.aborted) await worker.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      worker.off("message", resolve).off("error", onError).off("exit", onExit);
      if (all.has(worker)) idle.push(worker);
    }
  }

  return {
    async find(base, fileId, body, asker) {
      const file = await findParsed(storage.db, base.id, fileId);
      return inTurn(asker, async () => {
        const search: Search = {
          text: await readText(await objects.get(file.markdown_key)),
          patterns: body.patterns ?? (body.pattern === undefined ? [] : [body.pattern]),
          isRegex: body.use_regex,
          isCaseSensitive: body.case_sensitive,
          maxWindows: body.max_windows,
          windowSize: body.window_size,
          afterLine: body.after_line,
        };
        const findings = await ask(search, asker.signal);
        return { file_id: file.id, semantic: false, match_mode: body.use_regex ? "regex" : "keyword", ...findings };
      });
    },
    async close() {
      places.clear();
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}
