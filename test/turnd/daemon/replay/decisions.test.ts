import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { stripEscapes } from "../../../../src/turnd/daemon/executors/contract/json-line.ts";
import { EXECUTORS, findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import { openRecording } from "../../../../src/turnd/daemon/replay/recording.ts";
import { toVerdict } from "../../../../src/turnd/daemon/turns/outcome/decision.ts";
import { replayRecording } from "../../../../src/turnd/daemon/turns/replay/replay.ts";
import type { Decision, Evidence, TurnEndedData } from "../../../../src/turnd/protocol/index.ts";
import { listRecordings } from "../executors/recordings.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";

const RECORDINGS = EXECUTORS.flatMap(({ id }) => listRecordings(join(REPOSITORY, "fixtures"), id));
/** Keys that the recordings were made with, as an operator's redactor would know them. */
const redact = createRedactor(["sk-bad", "FAKE-LAB-KEY-AAAA1111"]);
/** Quoted text and the ellipsis of a cut. */
const MAX_EVIDENCE_CHARACTERS = 601;
const MAX_MESSAGE_CHARACTERS = 700;

async function play(directory: string): Promise<{ ended: TurnEndedData; decision: Decision }> {
  const recording = await openRecording(directory);
  const executor = findExecutor(recording.turn.executor);
  if (executor === undefined) throw new Error(`no executor ${recording.turn.executor}`);
  let decision: Decision | undefined;
  let last = "";
  await replayRecording(recording, {
    executor,
    maxLineBytes: 16_777_216,
    now: () => new Date("2026-01-01T00:00:00.000Z"),
    redact,
    keepsOrder: false,
    write: (lines) => {
      last = lines.toString("utf8").trimEnd().split("\n").at(-1) ?? "";
      return Promise.resolve();
    },
    explain: (made) => void (decision = made),
  });
  if (decision === undefined) throw new Error("nothing was explained");
  const { data }: { data: TurnEndedData } = JSON.parse(last);
  return { ended: data, decision };
}

/** Every text that stands in a line: as printed, and as JSON decodes it, JSON within JSON too, or a pair of the log. */
function textsIn(line: string): string[] {
  const json = /(?:^| error=)(\{.*\})/s.exec(line)?.[1];
  const pairs = [...line.matchAll(/=("(?:[^"\\]|\\.)*")/g)].flatMap(([, quoted = ""]) => decoded(`[${quoted}]`));
  return [line, ...(json === undefined ? [] : decoded(json)), ...pairs];
}

function decoded(text: string): string[] {
  if (!/^\s*[[{]/.test(text)) return [];
  try {
    return textsOf(JSON.parse(text));
  } catch {
    return [];
  }
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value, ...decoded(value)];
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(textsOf);
  return [String(value)];
}

/** Whether a quote's words, those between its ellipses, stand in the file from its line on. */
function stands(directory: string, { source, line = 0, text }: Evidence): boolean {
  const file = join(directory, source === "stdout" ? "stdout.jsonl" : "stderr.log");
  const lines = stripEscapes(redact(readFileSync(file, "utf8"))).split("\n");
  const height = text.split("\n").length;
  const texts = textsIn(lines.slice(line - 1, line - 1 + height).join("\n"));
  return text.split(/ … |…$/).every((words) => texts.some((whole) => whole.includes(words)));
}

const played = new Map<string, ReturnType<typeof play>>();

/** Each recording is played once, at the first request. */
function decide(directory: string): ReturnType<typeof play> {
  const known = played.get(directory) ?? play(directory);
  played.set(directory, known);
  return known;
}

describe.each(RECORDINGS)("$name", ({ directory }) => {
  test("is decided by the first rule that matches, which is the one that is reported", async () => {
    const { ended, decision } = await decide(directory);
    const { tried = [], verdict, rule, evidence } = decision;
    const won = tried.findIndex(({ outcome }) => outcome === "won");
    expect(tried.findIndex(({ outcome }) => outcome !== "no_match")).toBe(won);
    expect(tried.filter(({ outcome }) => outcome === "won")).toHaveLength(1);
    expect(tried[won]).toMatchObject({ rule, verdict, on: decision.on });
    expect(verdict).toBe(toVerdict(ended));
    const [first] = evidence;
    expect(first).toBeDefined();
    expect(tried[won]?.evidence).toEqual(first);
  });

  test("quotes what stands at that line of that file, bounded and without secrets", async () => {
    const { ended, decision } = await decide(directory);
    const quoted = ended.failure?.evidence ?? [];
    const shown = (decision.tried ?? []).flatMap(({ evidence }) => evidence ?? []);
    const faults = [...quoted, ...JSON.parse(redact(JSON.stringify([...decision.evidence, ...shown])))].filter(
      (evidence: Evidence) => {
        if (evidence.text.length > MAX_EVIDENCE_CHARACTERS || evidence.text.includes("sk-bad")) return true;
        const isLine = evidence.source === "stdout" || evidence.source === "stderr";
        return isLine ? evidence.line === undefined || !stands(directory, evidence) : evidence.line !== undefined;
      },
    );
    expect(faults).toEqual([]);
  });

  test("has one sentence of what happened and what to do", async () => {
    const { failure } = (await decide(directory)).ended;
    if (failure === undefined) return;
    expect(failure.evidence.length).toBeGreaterThan(0);
    expect(failure.message.length).toBeLessThan(MAX_MESSAGE_CHARACTERS);
    // What others said stands in quotation marks and may be of any shape.
    const own = failure.message.replaceAll(/“.*?”(?=;|,|\)|\.$)/gs, "“”");
    expect(own).toMatch(/^\S.*; [a-z].*\.$/);
    expect(own.slice(0, -1)).not.toMatch(/[.!?] |\n/);
  });
});
