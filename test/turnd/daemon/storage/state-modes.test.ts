import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeDirectories } from "../../../../src/turnd/daemon/storage/directories.ts";
import { closeState } from "../../../../src/turnd/daemon/storage/state-modes.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test("what an earlier version left open in a state is closed; what the CLIs' user reads stays", () => {
  const parent = temporaryDirectory(onTestFinished);
  const state = join(parent, "state");
  for (const name of ["git", "clis", "sessions", "shells", "starter"])
    mkdirSync(join(state, name), { recursive: true, mode: 0o755 });
  const files = ["index.db", "index.db-wal", "index.db-shm", "index.db-seal", "lock", "reserve", "tombstones.jsonl"];
  for (const name of files) writeFileSync(join(state, name), "", { mode: 0o644 });
  writeFileSync(join(parent, "other"), "", { mode: 0o644 });
  symlinkSync("../other", join(state, "index.db-link"));
  chmodSync(state, 0o755);

  expect(closeState(state).toSorted()).toEqual(
    [state, ...[...files, "shells", "starter"].map((name) => join(state, name))].toSorted(),
  );
  expect(modeOf(state)).toBe("711");
  for (const name of files) expect([name, modeOf(join(state, name))]).toEqual([name, "600"]);
  for (const name of ["shells", "starter"]) expect([name, modeOf(join(state, name))]).toEqual([name, "700"]);
  for (const name of ["git", "clis"]) expect([name, modeOf(join(state, name))]).toEqual([name, "755"]);
  expect(modeOf(join(parent, "other"))).toBe("644");
  expect(closeState(state)).toEqual([]);
});

test("a directory that others pass through is made so whatever the umask", async () => {
  const parent = temporaryDirectory(onTestFinished);
  const before = process.umask(0o077);
  try {
    await makeDirectories(join(parent, "a/b"), 0o711);
  } finally {
    process.umask(before);
  }
  expect([modeOf(join(parent, "a")), modeOf(join(parent, "a/b"))]).toEqual(["711", "711"]);
});
