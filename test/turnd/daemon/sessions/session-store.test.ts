import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSessionStore } from "../../../../src/turnd/daemon/sessions/session-store.ts";
import { CLI_USER, temporaryDirectory } from "../../../harness/temporary.ts";

test.each([
  [0o755, "711"],
  [0o1777, "711"],
  [0o700, "700"],
])("sessions of mode %o that came with a volume are listed by no other user afterwards", async (before, after) => {
  const stateDirectory = temporaryDirectory(onTestFinished);
  const sessions = join(stateDirectory, "sessions");
  mkdirSync(sessions);
  chmodSync(sessions, before);
  const store = await openSessionStore({
    stateDirectory,
    owner: CLI_USER,
    removeTree: () => Promise.resolve(),
    removeWorkspace: () => Promise.resolve(),
    onUnreadable: () => undefined,
    onExposed: () => undefined,
    onLeft: () => undefined,
  });
  await store.close();
  expect((statSync(sessions).mode & 0o7777).toString(8)).toBe(after);
});
