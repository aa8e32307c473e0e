import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeWorkspace } from "../../../../src/service/sandboxes/embedded/remove-workspace.ts";
import { CLI_USER, temporaryDirectory } from "../../../harness/temporary.ts";

const { signal } = new AbortController();
const owner = process.getuid?.() === 0 ? CLI_USER : undefined;

function makeWorkspace(): { outer: string; path: string; own: (path: string) => void } {
  const outer = temporaryDirectory(onTestFinished);
  chmodSync(outer, 0o711);
  const path = join(outer, "workspace");
  const own = (each: string): void => {
    if (owner !== undefined) chownSync(each, owner.uid, owner.gid);
  };
  mkdirSync(path);
  own(path);
  return { outer, path, own };
}

test("a workspace goes with its links, closed directories and strange names, and nothing a link leads to", async () => {
  const { outer, path, own } = makeWorkspace();
  const foreign = join(outer, "foreign");
  mkdirSync(foreign);
  writeFileSync(join(foreign, "file"), "stays");
  symlinkSync(foreign, join(path, "link"));
  symlinkSync(join(foreign, "file"), join(path, "-delete"));
  for (const name of ["closed", "closed/inner", "new\nline", "-exec"]) {
    mkdirSync(join(path, name));
    own(join(path, name));
  }
  writeFileSync(join(path, "closed/inner/file"), "");
  own(join(path, "closed/inner/file"));
  chmodSync(join(path, "closed/inner"), 0o000);
  chmodSync(join(path, "closed"), 0o000);
  await removeWorkspace(path, owner, signal);
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(foreign)).toEqual(["file"]);
  // Again: it is gone already.
  await removeWorkspace(path, owner, signal);
});

test.runIf(owner !== undefined)("what is not the user's own is not removed with our rights", async () => {
  const { path } = makeWorkspace();
  mkdirSync(join(path, "roots"), { mode: 0o700 });
  writeFileSync(join(path, "roots", "file"), "");
  await expect(removeWorkspace(path, owner, signal)).rejects.toThrow();
  expect(existsSync(join(path, "roots", "file"))).toBe(true);
});
