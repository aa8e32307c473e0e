import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { printDiff } from "../../../../src/turnd/commands/diff.ts";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

const FIXTURES = join(REPOSITORY, "fixtures/cli-b/0.139.0");

async function diff(a: string, b: string, options: { isJson?: boolean; isStrict?: boolean } = {}) {
  const out = new PassThrough();
  const printing = text(out);
  const code = await printDiff(a, b, {
    executors: EXECUTORS,
    redact: (line) => line,
    stdin: Readable.from([]),
    out,
    isJson: false,
    isStrict: false,
    hasColors: false,
    signal: new AbortController().signal,
    ...options,
  });
  out.end();
  return { code, printed: await printing };
}

/** The stdout of a fixture, changed. */
function changed(change: (lines: string[]) => string[], name = "shell-succeeds"): { before: string; after: string } {
  const directory = temporaryDirectory(onTestFinished);
  const [before, after] = [join(directory, "before.jsonl"), join(directory, "after.jsonl")];
  copyFileSync(join(FIXTURES, name, "stdout.jsonl"), before);
  const lines = readFileSync(before, "utf8").trimEnd().split("\n");
  writeFileSync(after, `${change(lines).join("\n")}\n`);
  return { before, after };
}

test("a recording is the same as itself, and as itself with other ids and times", async () => {
  const other = changed((lines) =>
    lines.map((line) => line.replace(/"thread_id":"[^"]*"/, '"thread_id":"other"').replaceAll('"item_', '"thing_')),
  );
  expect(await diff(other.before, other.after)).toMatchObject({
    code: 0,
    printed: expect.stringContaining("the same"),
  });
  expect(await diff(other.before, other.after, { isStrict: true })).toMatchObject({
    code: 1,
    printed: expect.stringContaining('+ data.native_session_id: "other"'),
  });
});

test("an event that is missing does not make those after it differ", async () => {
  const { before, after } = changed((lines) => lines.filter((line) => !line.includes('"item.started"')));
  const { code, printed } = await diff(after, before, { isJson: true });
  const { differences, ...rest } = JSON.parse(printed);
  expect([code, rest]).toMatchObject([1, { same: false, a: { executor: "cli-b", status: "completed" } }]);
  const kinds = differences.map(
    (difference: { kind: string; type?: string }) => `${difference.kind} ${difference.type}`,
  );
  expect(kinds.filter((kind: string) => kind.startsWith("only_in"))).toHaveLength(0);
  expect(kinds.filter((kind: string) => kind.startsWith("changed")).length).toBeLessThan(4);
});

test("a field that changed is shown before and after, on one line and without effect on the terminal", async () => {
  const { before, after } = changed(
    (lines) => lines.map((line) => line.replace(/"text":"[^"]*"/, '"text":"\\u001b]0;title\\u0007 two\\nlines"')),
    "text-answer",
  );
  const { code, printed } = await diff(before, after);
  expect(code).toBe(1);
  expect(printed).toContain('\n~ 3 message\n  - data.text: "Hello from the mock model."\n  + data.text: ');
  // eslint-disable-next-line no-control-regex -- control characters are what must not be there
  expect(printed).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

test("8,000 events that have nothing in common are compared in seconds", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const paths = ["a", "b"].map((name) => {
    const messages = Array.from({ length: 8_000 }, (_, index) =>
      JSON.stringify({
        type: "item.completed",
        item: { id: `i${index}`, type: "agent_message", text: `${name} ${index}` },
      }),
    );
    const path = join(directory, `${name}.jsonl`);
    writeFileSync(path, `{"type":"thread.started","thread_id":"t"}\n${messages.join("\n")}\n`);
    return path;
  });
  const startedAt = performance.now();
  const { code } = await diff(paths[0] ?? "", paths[1] ?? "");
  expect(code).toBe(1);
  expect(performance.now() - startedAt).toBeLessThan(60_000);
});

test("what is more than one recording, none, or not there is trouble, by name", async () => {
  const one = join(FIXTURES, "text-answer");
  await expect(diff(FIXTURES, one)).rejects.toThrow(`${FIXTURES}: holds more than one recording; name one, such as`);
  await expect(diff(one, join(FIXTURES, "nowhere"))).rejects.toThrow("nowhere: no such file or directory (ENOENT)");
  await expect(diff("-", "-")).rejects.toThrow("can be one of the two, not both");
});
