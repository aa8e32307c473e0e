import { expect, test } from "vitest";
import { PROSE } from "../../../../src/turnd/daemon/executors/providers/answer-prose.ts";
import { CODES, WORDS } from "../../../../src/turnd/daemon/executors/providers/answer-words.ts";
import { cliA } from "../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { RULES as CLI_A_RULES } from "../../../../src/turnd/daemon/executors/cli-a/failures/failure.ts";
import { cliB } from "../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { RULES as CLI_B_RULES } from "../../../../src/turnd/daemon/executors/cli-b/failures/failure.ts";
import { explainTurn } from "../../../../src/turnd/daemon/turns/outcome/decision.ts";
import { error, log } from "./cli-a/lines.ts";

const CHARACTERS = 300_000;
/** Of the processor: what grows in line with its text takes some 10 ms of it, what grows with the square 1.8 s and more. */
const LIMIT_MS = 1_000;

const named: readonly (readonly [string, RegExp | undefined])[] = [
  ...Object.entries(CODES),
  ...Object.entries(WORDS),
  ...Object.entries(PROSE),
  ...[...CLI_A_RULES, ...CLI_B_RULES].flatMap(({ id, name, field, pattern }) =>
    [name, field, pattern].map((part) => [id, part] as const),
  ),
];
const patterns = new Map(
  named.flatMap(([name, pattern]) => (pattern === undefined ? [] : [[pattern.source, { name, pattern }] as const])),
);
/** All others take at most a fixed number of steps from each character. */
const endless = [...patterns.values()].filter(({ pattern }) => /(?<!\\)[*+]|\{\d+,\}/.test(pattern.source));

/** Every word of a pattern, over and over: it begins everywhere and never ends. */
function longTexts({ source }: RegExp): string[] {
  const plain = source.replace(/\(\?<?[:=!]|\\[bswdSWD]|\[[^\]]*\]/g, "\n");
  const words = new Set(plain.match(/[\w \-:'`"/.]{2,}/g));
  return [...words].flatMap((word) => ["", " ", "_"].map((separator) => repeat(word + separator)));
}

function repeat(unit: string): string {
  return unit.repeat(Math.ceil(CHARACTERS / unit.length));
}

function timeOf(act: () => void): number {
  const before = process.cpuUsage();
  act();
  return process.cpuUsage(before).user / 1_000;
}

test("some patterns repeat without a bound", () => {
  expect(patterns.size).toBeGreaterThan(80);
  expect(endless.length).toBeGreaterThan(5);
});

test.each(endless)(
  "$name is tried on a long text of its own words in a time in line with its length",
  ({ pattern }) => {
    for (const text of longTexts(pattern)) {
      expect(
        timeOf(() => pattern.test(text)),
        text.slice(0, 40),
      ).toBeLessThan(LIMIT_MS);
    }
  },
);

const HOSTILE = [
  "insufficient_",
  "Config file at ",
  "Model provider ",
  "unknown variant ",
  "Output schema file ",
  "thread 'x' panicked at ",
  "! permission requested: ",
  '! agent "a". Falling back to default agent ',
  "Error: ",
  "2026-11-21T08:00:00Z ERROR a::tools::router: error=",
  "timestamp=2026-11-21T08:00:00 level=ERROR run=x message=",
  ' error.error="\\"',
  "\u001b]",
  "\u001b[0",
  "{",
] as const;

test.each(HOSTILE)("a failure of any length with %j is explained in a time in line with its length", (unit) => {
  const text = repeat(unit);
  const said = {
    "cli-a": { stdout: error("APIError", { message: text, responseBody: text }), logged: log(`service=llm ${text}`) },
    "cli-b": { stdout: JSON.stringify({ type: "turn.failed", error: { message: text } }), logged: text },
  };
  for (const [executor, { stdout, logged }] of [
    [cliA, said["cli-a"]],
    [cliB, said["cli-b"]],
  ] as const) {
    const translator = executor.createTranslator({ requestedSession: null });
    const took = timeOf(() => {
      translator.push({ source: "stderr", number: 1, text, isTruncated: false });
      translator.push({ source: "stderr", number: 2, text: logged, isTruncated: false });
      translator.push({ source: "stdout", number: 1, text: stdout, isTruncated: false });
      const exit = { code: 1, signal: null };
      explainTurn({ endedBy: null, exit, isDegraded: false, ending: translator.end({ exit, wasStopped: false }) });
    });
    expect(took, executor.id).toBeLessThan(LIMIT_MS);
  }
});
