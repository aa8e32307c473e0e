// A worker thread: finds lines in one text after another.
import { parentPort } from "node:worker_threads";
import { findLines, PatternInvalid, type Findings, type Search } from "./find-lines.ts";

/** What the thread answers. */
export type FindAnswer =
  | { readonly ok: true; readonly findings: Findings }
  | { readonly ok: false; readonly kind: "pattern" | "fault"; readonly message: string };

parentPort?.on("message", (search: Search) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(answer(search));
});

// Everything it needs is loaded.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage("ready");

function answer(search: Search): FindAnswer {
  try {
    return { ok: true, findings: findLines(search) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, kind: error instanceof PatternInvalid ? "pattern" : "fault", message };
  }
}
