import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openEventLog } from "../../../../../src/turnd/daemon/event-log/event-log.ts";
import { createRedactor } from "../../../../../src/turnd/daemon/event-log/redact.ts";
import { createTail } from "../../../../../src/turnd/daemon/event-log/tail.ts";
import type {
  OutputLine,
  TranslatedEvent,
  Translator,
} from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { followOutput, joinRuns } from "../../../../../src/turnd/daemon/process/output/follow.ts";
import { consumeOutput } from "../../../../../src/turnd/daemon/turns/run/consume.ts";
import { createEmitter } from "../../../../../src/turnd/daemon/turns/run/emitter.ts";
import { readProgress, takenLines } from "../../../../../src/turnd/daemon/turns/run/progress.ts";
import { createReconciler } from "../../../../../src/turnd/daemon/turns/run/reconcile.ts";
import { LoggedEvent, type Native } from "../../../../../src/turnd/protocol/index.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const SECRET = "sk-0123456789";

/** `say` says three words of its line, `begin` and `finish` are of a tool call, `later` is printed by the next `say`. */
const STDOUT = [
  "say",
  "begin t1",
  "say",
  "",
  "later",
  "say",
  "finish t1",
  "begin t2",
  "say",
  "finish t2",
  "begin t3",
  "say",
];
const STDERR = ["say", "say", "quiet", "say"];

type Translate = (words: readonly string[], native: Native) => TranslatedEvent[];
interface Dialect {
  readonly say: Translate;
  readonly begin: (id: string, native: Native) => TranslatedEvent[];
  readonly finish: (id: string, native: Native) => TranslatedEvent[];
}

const message = (text: string, native: Native): TranslatedEvent => ({
  type: "message",
  native,
  data: { message_id: "m", text: `${text} ${SECRET}` },
});
const call = (id: string) => ({ tool_call_id: id, name: "x", kind: "other" as const, input: { key: SECRET } });
const started = (id: string, native: Native): TranslatedEvent => ({ type: "tool.started", native, data: call(id) });
const ended = (id: string, native: Native): TranslatedEvent => ({
  type: "tool.ended",
  native,
  data: { ...call(id), status: "completed" },
});

const BASE: Dialect = {
  say: ([a, b, c], native) => [message(`${a} ${b}`, native), message(`${c}`, native)],
  begin: (id, native) => [started(id, native)],
  finish: (id, native) => [ended(id, native)],
};
const DIALECTS: Readonly<Record<string, Dialect>> = {
  same: BASE,
  split: { ...BASE, say: (words, native) => words.map((word) => message(word, native)) },
  join: { ...BASE, say: (words, native) => [message(words.join(" "), native)] },
  add: { ...BASE, say: (words, native) => [...BASE.say(words, native), message(`${words[0]}-more`, native)] },
  "add first": { ...BASE, say: (words, native) => [message(`${words[0]}-more`, native), ...BASE.say(words, native)] },
  "drop the second": { ...BASE, say: (words, native) => BASE.say(words, native).slice(0, 1) },
  "drop lines": { ...BASE, say: (words, native) => (native.line % 2 === 1 ? [] : BASE.say(words, native)) },
  "drop stderr": { ...BASE, say: (words, native) => (native.source === undefined ? BASE.say(words, native) : []) },
  "tell calls late": { ...BASE, begin: () => [], finish: (id, native) => [started(id, native), ended(id, native)] },
  "tell calls early": { ...BASE, begin: (id, native) => [started(id, native), ended(id, native)], finish: () => [] },
  "no calls": { ...BASE, begin: () => [], finish: () => [] },
  nothing: { say: () => [], begin: () => [], finish: () => [] },
};

function wordsOf({ source, line }: { readonly source?: string | undefined; readonly line: number }): string[] {
  return ["a", "b", "c"].map((word) => `${source ?? "stdout"}${line}${word}`);
}

function translator(dialect: Dialect): Translator {
  const open = new Set<string>();
  let owed: Native | undefined;
  function translate({ source, number, text }: OutputLine): TranslatedEvent[] {
    const native: Native = { ...(source === "stderr" ? { source } : {}), line: number };
    const [verb, id = ""] = text.split(" ");
    if (verb === "later") owed = native;
    if (verb === "say") {
      const late = owed === undefined ? [] : [message(`late${owed.line}`, owed)];
      owed = undefined;
      return [...late, ...dialect.say(wordsOf(native), native)];
    }
    return verb === "begin" ? dialect.begin(id, native) : verb === "finish" ? dialect.finish(id, native) : [];
  }
  return {
    push(line) {
      const events = translate(line);
      for (const { type, data } of events) {
        if (type === "tool.started") open.add(data.tool_call_id);
        else if (type === "tool.ended") open.delete(data.tool_call_id);
      }
      return { events };
    },
    end: () => ({
      events: [...open].map((id) => ({ type: "tool.ended", data: { ...call(id), status: "interrupted" } })),
      output: null,
      nativeSessionId: null,
      isResumed: false,
    }),
  };
}

/** Translates the files of a directory into its log, from where that is. */
async function run(directory: string, dialect: Dialect, secret = SECRET) {
  const logPath = join(directory, "events.jsonl");
  const redact = createRedactor([secret]);
  const log = await openEventLog({
    path: logPath,
    tail: createTail(0, 0),
    turnId: "turn-1",
    sessionId: "session-1",
    executor: "cli-b",
    now: () => "2026-11-21T08:00:00.000Z",
    redact,
  });
  const emitter = createEmitter({
    log,
    redact,
    logPath,
    progress: await readProgress(logPath, redact),
    onWritten() {},
    onSkipped() {},
    onDifference() {},
    onFault() {},
  });
  await consumeOutput({
    translator: translator(dialect),
    report() {},
    output: () =>
      followOutput({
        stdoutPath: join(directory, "stdout.jsonl"),
        stderrPath: join(directory, "stderr.log"),
        maxLineBytes: 1_000,
        taken: joinRuns(takenLines(logPath)),
        finished: AbortSignal.abort(),
      }),
    isHeldUntilBound: false,
    emit: emitter.translated,
    outcome: () => Promise.resolve({ exit: null, wasStopped: false }),
  });
  await emitter.finish();
  const [digest, counts, isCaughtUp] = [log.digest(), emitter.counts(), emitter.isCaughtUp()];
  await log.close();
  const bytes = readFileSync(logPath, "utf8");
  expect(digest).toBe(createHash("sha256").update(bytes).digest("hex"));
  const lines = bytes.split("\n").slice(0, -1);
  const events = lines.map((line) => LoggedEvent.parse(JSON.parse(line)));
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(counts.tools).toBe(events.filter(({ type }) => type === "tool.started").length);
  return { lines, events, isCaughtUp };
}

function newDirectory(): string {
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "stdout.jsonl"), `${STDOUT.join("\n")}\n`);
  writeFileSync(join(directory, "stderr.log"), `${STDERR.join("\n")}\n`);
  writeFileSync(join(directory, "events.jsonl"), "");
  return directory;
}

const textsOf = (events: readonly LoggedEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === "message" ? event.data.text.replaceAll(/ \[redacted\]| sk-\S+/g, "").split(" ") : [],
  );
const warningsIn = (events: readonly LoggedEvent[]) =>
  events.flatMap((event) => (event.type === "warning" ? [event.data.code] : []));

function expectSoundCalls(events: readonly LoggedEvent[]): void {
  const open = new Set<string>();
  for (const { type, data } of events) {
    if (type === "tool.started") {
      expect(open).not.toContain(data.tool_call_id);
      open.add(data.tool_call_id);
    } else if (type === "tool.ended") {
      expect(open).toContain(data.tool_call_id);
      open.delete(data.tool_call_id);
    }
  }
  expect([...open]).toEqual([]);
  const starts = events.flatMap(({ type, data }) => (type === "tool.started" ? [data.tool_call_id] : []));
  expect(new Set(starts).size).toBe(starts.length);
}

/** The words of an event, by the line it names. */
function isAfter(native: Native | undefined, kept: readonly LoggedEvent[]): boolean {
  if (native === undefined) return false;
  const reached = kept.flatMap((event) => (event.native?.source === native.source ? [event.native?.line ?? 0] : []));
  return native.line > Math.max(0, ...reached);
}

describe.each(Object.keys(DIALECTS))("a log of the translation %s", (first) => {
  test.each(Object.keys(DIALECTS))("cut anywhere, goes on with the translation %s", async (second) => {
    const directory = newDirectory();
    const [before, after] = [DIALECTS[first], DIALECTS[second]];
    if (before === undefined || after === undefined) throw new Error("no such dialect");
    const whole = await run(directory, before);
    const alone = await run(newDirectory(), after);
    for (let cut = 0; cut <= whole.lines.length; cut += 1) {
      const kept = whole.lines.slice(0, cut);
      writeFileSync(join(directory, "events.jsonl"), kept.map((line) => `${line}\n`).join(""));
      const { lines, events } = await run(directory, after);
      const keptEvents = whole.events.slice(0, cut);
      expect(lines.slice(0, cut), "what was logged stays").toEqual(kept);
      const texts = textsOf(events);
      expect(new Set(texts).size, `nothing is logged twice: ${texts.join(" ")}`).toBe(texts.length);
      expectSoundCalls(events);
      // Of lines behind the last one logged all is there that the new translation says.
      const expected = textsOf(alone.events.filter(({ native }) => isAfter(native, keptEvents)));
      expect(texts).toEqual(expect.arrayContaining(expected));
      const warnings = warningsIn(events);
      expect(warnings.length).toBeLessThanOrEqual(1);
      if (first === second) {
        expect(lines).toEqual(whole.lines);
      } else if (warnings.length === 0) {
        // No reader sees a difference: what was logged is how the new translation begins.
        expect(lines).toEqual(alone.lines);
      } else {
        expect(alone.lines.slice(0, cut), "no warning without a difference").not.toEqual(kept);
      }
      // Once more: nothing is logged again, and the warning is not either.
      expect((await run(directory, after)).lines, "a second restart adds nothing").toEqual(lines);
    }
  });
});

test("a record half logged is completed, also behind a place where the translations differ", async () => {
  const directory = newDirectory();
  const { lines, events } = await run(directory, BASE);
  const cut = events.findIndex((event) => event.type === "message" && event.data.text.startsWith("stdout9a")) + 1;
  writeFileSync(
    join(directory, "events.jsonl"),
    lines
      .slice(0, cut)
      .map((line) => `${line}\n`)
      .join(""),
  );
  const quietOnThree: Dialect = { ...BASE, say: (words, native) => (native.line === 3 ? [] : BASE.say(words, native)) };
  const resumed = await run(directory, quietOnThree);
  expect(warningsIn(resumed.events)).toEqual(["translation_changed"]);
  expect(textsOf(resumed.events)).toEqual(textsOf(events));
});

test("another secret is no other translation", async () => {
  const directory = newDirectory();
  const { lines } = await run(directory, BASE);
  for (let cut = 0; cut <= lines.length; cut += 1) {
    writeFileSync(
      join(directory, "events.jsonl"),
      lines
        .slice(0, cut)
        .map((line) => `${line}\n`)
        .join(""),
    );
    const resumed = await run(directory, BASE, "stdout3a");
    expect(resumed.lines.slice(0, cut)).toEqual(lines.slice(0, cut));
    expect(resumed.lines).toHaveLength(lines.length);
    expect(warningsIn(resumed.events)).toEqual([]);
  }
});

/** Call ids with a secret in them, as a provider may make them. */
const SECRET_CALLS = STDOUT.map((line) => line.replace(/t(\d)$/, `call-$1-${SECRET}`));

describe.each([SECRET, "another-secret"])(
  "calls whose ids hold a secret, after a restart with the secret %s",
  (secret) => {
    test.each(Object.keys(DIALECTS))("start once and end once in the log, translated as by %s", async (second) => {
      const directory = newDirectory();
      writeFileSync(join(directory, "stdout.jsonl"), `${SECRET_CALLS.join("\n")}\n`);
      const { lines, events } = await run(directory, BASE);
      for (let cut = 0; cut <= lines.length; cut += 1) {
        const kept = lines.slice(0, cut).map((line) => `${line}\n`);
        writeFileSync(join(directory, "events.jsonl"), kept.join(""));
        const resumed = await run(directory, DIALECTS[second] ?? BASE, secret);
        expectSoundCalls(resumed.events);
        // Calls that were not begun are no other calls.
        if (second === "same") expect(resumed.events).toHaveLength(events.length);
      }
    });
  },
);

test("a text that the turn's end withdraws, which names no line, is withdrawn once", async () => {
  const path = join(newDirectory(), "events.jsonl");
  const withdrawn = { type: "message.discarded", data: { message_id: "m", reason: "ended" } } as const;
  const ids = { v: 1, seq: 1, at: "2026-01-01T00:00:00.000Z", turn_id: "t", session_id: "s", executor: "cli-b" };
  writeFileSync(path, `${JSON.stringify({ ...ids, ...withdrawn })}\n`);
  const redact = (text: string): string => text;
  const { history } = await readProgress(path, redact);
  const reconciler = createReconciler({ path, history, redact });
  expect(await reconciler.select([withdrawn], [])).toEqual([]);
  await reconciler.finish();
  expect(reconciler.difference()).toBeUndefined();
});
