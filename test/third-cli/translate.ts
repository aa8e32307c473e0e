import { z } from "zod";
import { toEvidence, toExitFacts } from "../../src/turnd/daemon/executors/classification/rules.ts";
import type { Fact } from "../../src/turnd/daemon/executors/contract/failures.ts";
import type {
  Ending,
  OutputLine,
  TranslatedEvent,
  Translator,
  TranslatorInput,
} from "../../src/turnd/daemon/executors/contract/translator.ts";
import { readJsonLine } from "../../src/turnd/daemon/executors/contract/json-line.ts";
import { classify } from "./failures.ts";

/** The records of `toy run`. Loose: only the fields we read. */
export const ToyRecord = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("hello"), session: z.string() }),
  z.object({ kind: z.literal("say"), text: z.string() }),
  z.object({ kind: z.literal("fault"), why: z.string() }),
  z.object({ kind: z.literal("bye"), words: z.object({ heard: z.number(), said: z.number() }) }),
]);

/** Turns what one process of Toy prints into events. */
export function createToyTranslator(input: TranslatorInput): Translator {
  let nativeSessionId: string | null = null;
  let output: string | null = null;
  let usage: Ending["usage"];
  let bye: Fact | undefined;
  const faults: Fact[] = [];
  const stderr: Fact[] = [];

  function pushStdout({ text, number: line, isTruncated }: OutputLine): TranslatedEvent[] {
    const read = readJsonLine(text);
    if (read.kind === "blank") return [];
    if (read.kind === "value") input.drift?.(read.value, line);
    const record = read.kind === "value" && !isTruncated ? ToyRecord.safeParse(read.value).data : undefined;
    if (record === undefined) {
      const reason = read.kind === "not_json" ? "not_json" : "unknown_type";
      return [{ type: "record.unknown", data: { reason, line: text }, native: { line } }];
    }
    const native = { line, type: record.kind };
    switch (record.kind) {
      case "hello":
        nativeSessionId = record.session;
        return [
          {
            type: "session.bound",
            data: { native_session_id: record.session, resumed: input.requestedSession === record.session },
            native,
          },
        ];
      case "say":
        output = record.text;
        return [{ type: "message", data: { message_id: `say-${line}`, text: record.text }, native }];
      case "fault":
        faults.push({ on: "record", source: "stdout", line, text: record.why });
        return [];
      case "bye": {
        const { heard, said } = record.words;
        const none = { cached_input_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 };
        usage = { input_tokens: heard, output_tokens: said, ...none };
        bye = { on: "record", source: "stdout", line, text: '"kind":"bye"' };
        return [];
      }
    }
  }

  return {
    push(line) {
      if (line.source === "stdout") return { events: pushStdout(line) };
      stderr.push({ on: "stderr", source: "stderr", line: line.number, text: line.text });
      return { events: [] };
    },
    end({ exit, wasStopped }) {
      const exits = toExitFacts(exit, bye === undefined ? "before bye" : "after bye");
      const isProven = bye !== undefined && exit?.code === 0;
      return {
        events: [],
        output,
        nativeSessionId,
        isResumed: nativeSessionId !== null && nativeSessionId === input.requestedSession,
        ...(usage === undefined ? {} : { usage }),
        ...(isProven && bye !== undefined
          ? { proof: { evidence: [bye, ...exits].map(toEvidence), seenIn: "toy/1.0.0/says" } }
          : { failure: classify([...faults, ...(wasStopped ? [] : exits), ...stderr]) }),
      };
    },
  };
}
