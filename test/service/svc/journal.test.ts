import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal, type Entry } from "../../../src/service/svc/upload/journal.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

const entry = (path: string): Entry => ({ path, size: 1, mtime_ms: 1, sha256: "0", step: "uploaded", at: 1 });

test("a step that is recorded after a kill has torn the last line is read again, and the torn one is not", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const open = (resumes = true) =>
    openJournal(directory, { url: "http://127.0.0.1:9", kbId: "kb_1", root: directory }, { resumes });
  const first = await open();
  await first.record([entry("a.md")]);
  await first.close();
  const [name = ""] = readdirSync(join(directory, "uploads"));
  appendFileSync(join(directory, "uploads", name), JSON.stringify(entry("torn.md")).slice(0, 30));
  const second = await open();
  expect([...second.entries.keys()]).toEqual(["a.md"]);
  await second.record([entry("b.md")]);
  await second.close();
  const third = await open();
  expect([...third.entries.keys()]).toEqual(["a.md", "b.md"]);
  await third.close();
  const anew = await open(false);
  expect([...anew.entries.keys()]).toEqual([]);
  await anew.close();
});
