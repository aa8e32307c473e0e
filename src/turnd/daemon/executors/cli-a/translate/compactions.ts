import type { FailureDraft } from "../../contract/failures.ts";
import type { OutputLine } from "../../contract/translator.ts";
import { toEvidence } from "../../classification/rules.ts";
import { ENDLESS_COMPACTION } from "../failures/failure.ts";

/** Summaries of the turn's conversation that were asked for without a tool call in between. */
export interface CompactionCount {
  /** One more is asked for. @returns the failure, when it is one too many */
  add(line: Pick<OutputLine, "number" | "text">, atMs: number): FailureDraft | undefined;
  /** A tool was called at that time: the turn gets on. A recording may have stdout first, so times decide. */
  noteTool(atMs: number): void;
}

/** The second may find room that the first did not; after these nothing will. */
const MAX_COMPACTIONS = 3;
const MAX_EVIDENCE_CHARACTERS = 300;

/** Creates a count for one process. */
export function createCompactionCount(): CompactionCount {
  let count = 0;
  let lastToolMs = 0;
  return {
    add({ number, text }, atMs) {
      if (atMs < lastToolMs) return undefined;
      count += 1;
      if (count <= MAX_COMPACTIONS) return undefined;
      return {
        ...ENDLESS_COMPACTION,
        message: `CLI A summarised the conversation ${MAX_COMPACTIONS} times without a tool call in between, still found it too long for the model's context, and was stopped.`,
        evidence: [toEvidence({ source: "stderr", line: number, text: text.slice(0, MAX_EVIDENCE_CHARACTERS) })],
        isProven: true,
      };
    },
    noteTool(atMs) {
      lastToolMs = Math.max(lastToolMs, atMs);
      count = 0;
    },
  };
}
