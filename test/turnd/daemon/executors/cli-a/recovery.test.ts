import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { TranslatedEvent, Translator } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { REPOSITORY } from "../../../../harness/temporary.ts";
import { error, OTHER_SESSION, SESSION, stepFinish, stepStart, text, tool } from "./lines.ts";

const DONE = { exit: { code: 0, signal: null }, wasStopped: false };

function pushAll(translator: Translator, lines: readonly string[], from = 1): TranslatedEvent[] {
  return lines.flatMap((line, index) => [
    ...translator.push({ source: "stdout", number: from + index, text: line, isTruncated: false }).events,
  ]);
}

const withoutLines = (events: readonly TranslatedEvent[]): unknown[] =>
  events.map((event) => ({ ...event, native: undefined }));

/** The second turn of a session with a tool in each, as `run` printed it, and what `export` said of the session then. */
describe.each(["1.14.34", "1.3.2"])("a session of the real CLI A %s", (version) => {
  const read = (name: string): string =>
    readFileSync(join(REPOSITORY, "test/turnd/daemon/executors/cli-a/stored", version, name), "utf8");
  const printed = read("stdout.jsonl").trimEnd().split("\n");
  const stored = read("export.json");
  const requestedSession: string = JSON.parse(printed[0] ?? "").sessionID;
  const startedAtMs: number = JSON.parse(stored).messages.findLast(
    ({ info }: { info: { role: string } }) => info.role === "user",
  ).info.time.created;

  const whole = cliA.createTranslator({ requestedSession });
  const wholeEvents = withoutLines(pushAll(whole, printed));
  const wholeEnding = whole.end(DONE);

  test("is whole as it was printed, so nothing is looked for", () => {
    const translator = cliA.createTranslator({ requestedSession });
    pushAll(translator, printed);
    expect(translator.findLost?.(DONE)).toBeUndefined();
    expect(wholeEnding.proof).toBeDefined();
  });

  test.each(printed.map((_, kept) => kept))("of which only %i records were printed, is had whole", (kept) => {
    const translator = cliA.createTranslator({ requestedSession });
    const before = pushAll(translator, printed.slice(0, kept));
    const lost = translator.findLost?.(DONE);
    expect(lost?.args).toEqual(["export", requestedSession]);

    const [head = "", ...lines] = lost?.readLines(stored, startedAtMs) ?? [];
    expect(JSON.parse(head)).toEqual({
      type: "turnd.recovered",
      sessionID: requestedSession,
      records: printed.length - kept,
    });
    const partOf = (line: string): unknown => JSON.parse(line).part;
    expect(lines.map(partOf)).toEqual(printed.slice(kept).map(partOf));

    const after = pushAll(translator, [head, ...lines], kept + 1);
    const emitted = [...before, ...after].filter(({ type }) => type !== "warning");
    expect(withoutLines(emitted)).toEqual(wholeEvents);
    expect(after.filter(({ type }) => type === "warning")).toEqual([
      expect.objectContaining({ data: { code: "output_recovered", message: expect.stringMatching(/^The CLI ended/) } }),
    ]);
    const ending = translator.end(DONE);
    expect({ ...ending, proof: undefined }).toEqual({ ...wholeEnding, proof: undefined });
    expect(ending.proof).toBeDefined();
  });

  test("gives nothing where the store lacks what was printed, or cannot be read", () => {
    const translator = cliA.createTranslator({ requestedSession: null });
    pushAll(translator, [stepStart()]);
    const lost = translator.findLost?.(DONE);
    for (const unusable of [stored, "", "Session not found", '{"messages":[{}]}', "[]", stored.slice(0, -10)]) {
      expect(lost?.readLines(unusable, 0)).toEqual([]);
    }
  });

  test("gives nothing of the turns before it", () => {
    const translator = cliA.createTranslator({ requestedSession });
    expect(translator.findLost?.(DONE)?.readLines(stored, startedAtMs + 3_600_000)).toEqual([]);
  });
});

test("tools that ended out of order are each had once", () => {
  const done = (callID: string): string => tool("bash", { status: "completed", output: callID }, callID);
  const [start, first, second, finish] = [stepStart(), done("call_x"), done("call_y"), stepFinish("stop")];
  const parts = [start, first, second, finish].map((line) => JSON.parse(line).part);
  const info = { id: "msg_1", role: "assistant", time: { created: 5 } };
  const translator = cliA.createTranslator({ requestedSession: null });
  pushAll(translator, [start, second]);
  const lines = translator.findLost?.(DONE)?.readLines(JSON.stringify({ messages: [{ info, parts }] }), 0) ?? [];
  expect(lines.slice(1).map((line) => JSON.parse(line).part)).toEqual([parts[1], parts[3]]);
});

test("the error of an answer that failed is had as `run` would have printed it", () => {
  const start = stepStart();
  const failed = { name: "APIError", data: { message: "no", statusCode: 401 } };
  const info = { id: "msg_1", role: "assistant", time: { created: 5, completed: 9 }, error: failed };
  const translator = cliA.createTranslator({ requestedSession: null });
  pushAll(translator, [start]);
  const stored = JSON.stringify({ messages: [{ info, parts: [JSON.parse(start).part] }] });
  const lines = translator.findLost?.(DONE)?.readLines(stored, 0) ?? [];
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { type: "turnd.recovered", sessionID: SESSION, records: 1 },
    { type: "error", timestamp: 9, sessionID: SESSION, error: failed },
  ]);
  pushAll(translator, lines, 2);
  expect(translator.end(DONE).failure?.code).toBe("auth_failed");
});

describe("nothing is looked for", () => {
  const findLost = (lines: readonly string[], outcome: Parameters<Translator["end"]>[0], requested?: string) => {
    const translator = cliA.createTranslator({ requestedSession: requested ?? null });
    pushAll(translator, lines);
    return translator.findLost?.(outcome);
  };

  test.each([
    ["where turnd ended the process", [stepStart()], { ...DONE, wasStopped: true }],
    ["where the process was killed", [stepStart()], { exit: { code: null, signal: "SIGKILL" }, wasStopped: false }],
    ["where it ended with another exit code", [stepStart()], { exit: { code: 1, signal: null }, wasStopped: false }],
    ["where its end was not seen", [stepStart()], { exit: null, wasStopped: false }],
    ["after an error of an unknown kind", [stepStart(), error("UnknownError", { message: "odd" })], DONE],
    ["after an error that says why", [stepStart(), error("APIError", { statusCode: 401, message: "no" })], DONE],
    ["after an answer that was cut by the provider's limit", [stepStart(), text("a"), stepFinish("length")], DONE],
    ["where no session is known", ["plain words"], DONE],
  ])("%s", (_, lines, outcome) => {
    expect(findLost(lines, outcome)).toBeUndefined();
  });

  test("in another session", () => {
    expect(findLost([stepStart()], DONE, OTHER_SESSION)).toBeUndefined();
  });
});

/** Real records: an answer that fills the context, a summary, and the answer after it. */
describe.each(["1.14.34", "1.3.2"])("a turn that CLI A %s compacts on its way", (version) => {
  const directory = join(REPOSITORY, "fixtures/cli-a", version, "compaction-with-log");
  const linesOf = (name: string): string[] => readFileSync(join(directory, name), "utf8").trimEnd().split("\n");
  const printed = linesOf("stdout.jsonl");
  const log = linesOf("stderr.log");

  /** The store's view of them: one message after another, the synthetic one the user's. */
  function toStored(): string {
    const parts = printed.map((line) => JSON.parse(line).part);
    const ids = [...new Set(parts.map(({ messageID }) => messageID))];
    const messages = ids.map((id, index) => {
      const own = parts.filter(({ messageID }) => messageID === id);
      const role = own.some(({ synthetic }) => synthetic === true) ? "user" : "assistant";
      return { info: { id, role, time: { created: index } }, parts: own };
    });
    return JSON.stringify({ messages });
  }

  function pushLog(translator: Translator): void {
    for (const [index, line] of log.entries()) {
      translator.push({ source: "stderr", number: index + 1, text: line, isTruncated: false });
    }
  }

  test.each(printed.map((_, kept) => kept))("ends with its last answer when %i records were printed", (kept) => {
    const translator = cliA.createTranslator({ requestedSession: null });
    pushAll(translator, printed.slice(0, kept));
    pushLog(translator);
    pushAll(translator, translator.findLost?.(DONE)?.readLines(toStored(), 0) ?? [], kept + 1);
    expect(translator.end(DONE)).toMatchObject({ output: "Done.", proof: expect.anything() });
  });

  test("is whole as it was printed, so nothing is looked for", () => {
    const translator = cliA.createTranslator({ requestedSession: null });
    pushLog(translator);
    pushAll(translator, printed);
    expect(translator.findLost?.(DONE)).toBeUndefined();
  });
});
