import { spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeWorkspace } from "../../../../src/service/sandboxes/embedded/remove-workspace.ts";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { CLI_USER, runnableProgram, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

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

test.runIf(owner !== undefined)(
  "no tool can trace what removes a workspace, and so make it outlive its turn",
  async () => {
    const { outer, path, own } = makeWorkspace();
    const [file = "", ...args] = asUser(CLI_USER, [
      "/usr/bin/perl",
      runnableProgram("test/programs/trace-all", onTestFinished),
      String(process.pid),
      "100",
    ]);
    const tool = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void tool.kill("SIGKILL"));
    let seen = "";
    tool.stdout.on("data", (data: Buffer) => (seen += data.toString()));
    await waitFor("the tool", () => seen.startsWith("ready\n"));
    // What it can trace, it does.
    const control = spawn("/bin/sleep", ["3600"], { ...owner, stdio: "ignore" });
    onTestFinished(() => void control.kill("SIGKILL"));
    await waitFor("what it can trace", () => seen.includes("trace /bin/sleep 3600"));
    for (let round = 0; round < 5; round += 1) {
      for (let number = 0; number < 300; number += 1) {
        const closed = join(path, `closed${number}`);
        mkdirSync(closed);
        own(closed);
        chmodSync(closed, 0o000);
      }
      await removeWorkspace(path, owner, signal);
      expect(readdirSync(outer)).toEqual([]);
      mkdirSync(path);
      own(path);
    }
    const other = seen
      .split("\n")
      .filter((line) => line !== "ready" && line !== "" && !line.endsWith(" /bin/sleep 3600"));
    expect(other).toEqual([]);
  },
);

test("a removal that is not wanted any more ends with what it has begun", async () => {
  const { path } = makeWorkspace();
  writeFileSync(join(path, "file"), "");
  await expect(removeWorkspace(path, owner, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
  expect(existsSync(join(path, "file"))).toBe(true);
});
