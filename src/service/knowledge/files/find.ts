import { text as readText } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import PQueue from "p-queue";
import type { FindBody, Found } from "../../api/knowledge-queries.ts";
import { ApiProblem, InputProblem } from "../../api/problems.ts";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../access.ts";
import { findParsed } from "./files.ts";
import type { Findings, Search } from "./find-lines.ts";
import type { FindAnswer } from "./find-worker.ts";

/** Finds lines in files. */
export interface Finder {
  /** @throws {ApiProblem} file_not_found, file_not_parsed, pattern_invalid, pattern_too_expensive */
  find(base: BaseRow, fileId: string, body: FindBody): Promise<Found>;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** Threads of one process. */
const THREADS = 2;
const SEARCH_MS = 2_000;
const HEAP_MEGABYTES = 512;
const PATTERNS = ["body", "patterns"];

export function createFinder({ storage, objects }: { storage: Storage; objects: Objects }): Finder {
  const places = new PQueue({ concurrency: THREADS });
  const idle: Worker[] = [];
  const all = new Set<Worker>();

  function start(): Worker {
    const worker = new Worker(new URL("./find-worker.ts", import.meta.url), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    });
    worker.unref();
    all.add(worker);
    worker.once("exit", () => {
      all.delete(worker);
      const place = idle.indexOf(worker);
      if (place !== -1) idle.splice(place, 1);
    });
    return worker;
  }

  async function ask(search: Search): Promise<Findings> {
    const worker = idle.pop() ?? start();
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
    worker.once("message", resolve).once("error", onError).once("exit", onExit);
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(search);
      const answer = await promise;
      if (answer.ok) return answer.findings;
      if (answer.kind === "pattern") throw new InputProblem("pattern_invalid", PATTERNS, answer.message);
      throw new Error(answer.message);
    } catch (error) {
      // A thread that did not answer in time may never.
      if (error instanceof ApiProblem && error.code === "pattern_too_expensive") await worker.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
      worker.off("message", resolve).off("error", onError).off("exit", onExit);
      if (all.has(worker)) idle.push(worker);
    }
  }

  return {
    async find(base, fileId, body) {
      const file = await findParsed(storage.db, base.id, fileId);
      return places.add(async () => {
        const findings = await ask({
          text: await readText(await objects.get(file.markdown_key)),
          patterns: body.patterns ?? (body.pattern === undefined ? [] : [body.pattern]),
          isRegex: body.use_regex,
          isCaseSensitive: body.case_sensitive,
          maxWindows: body.max_windows,
          windowSize: body.window_size,
          afterLine: body.after_line,
        });
        return { file_id: file.id, semantic: false, match_mode: body.use_regex ? "regex" : "keyword", ...findings };
      });
    },
    async close() {
      places.clear();
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}
