import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { protectSearchPath } from "../../../../src/turnd/daemon/process/user-files/search-path.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";

const SYSTEM = "/usr/bin";
const OTHER = { uid: 1000, gid: 1000, isSelf: false } as const;

function make(): { own: string; theirs: string; directory: string } {
  const directory = temporaryDirectory(onTestFinished);
  const own = join(directory, "own");
  mkdirSync(own);
  return { directory, own, theirs: userDirectory(join(directory, "theirs")) };
}

test.skipIf(CLI_USER.isSelf)("a search path loses what the CLIs' user can write, exchange or make", async () => {
  const { directory, own, theirs } = make();
  const open = join(directory, "open");
  mkdirSync(open);
  chmodSync(open, 0o1777);
  const inOpen = join(open, "bin");
  mkdirSync(inOpen);
  const below = join(theirs, "root/bin");
  mkdirSync(below, { recursive: true });
  symlinkSync(own, join(theirs, "link"));
  symlinkSync(theirs, join(directory, "linked"));
  const dropped = [theirs, below, open, join(directory, "linked"), "node_modules/.bin", ".", ""];
  const makeable = [join(theirs, "node_modules/.bin"), join(open, "node_modules/.bin")];
  const missing = join(directory, "node_modules/.bin");
  // A link is not followed again, so that whoever owns it cannot lead it elsewhere.
  const given = [...dropped, ...makeable, own, inOpen, missing, join(theirs, "link"), SYSTEM].join(":");
  expect(await protectSearchPath(given, OTHER)).toEqual({ path: [own, inOpen, missing, SYSTEM].join(":"), dropped });
});

test("what a group may write is lost to its members alone", async () => {
  const { own } = make();
  chmodSync(own, 0o775);
  const gid = process.getgid?.() ?? 0;
  expect((await protectSearchPath(own, { ...OTHER, uid: 4_000_000, gid: 4_000_000 })).dropped).toEqual([]);
  expect((await protectSearchPath(own, { ...OTHER, uid: 4_000_000, gid })).dropped).toEqual([own]);
});

test("where the CLIs' user is turnd's own what exists stays", async () => {
  const { own, theirs } = make();
  const missing = join(dirname(own), "node_modules/.bin");
  const given = [own, theirs, missing, "relative", ""].join(":");
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, isSelf: true };
  expect(await protectSearchPath(given, self)).toEqual({
    path: [own, theirs].join(":"),
    dropped: ["relative", ""],
  });
});

test("a search path of which nothing is left, or that is not set, is the system's own", async () => {
  expect(await protectSearchPath(".", OTHER)).toEqual({ path: "/usr/local/bin:/usr/bin:/bin", dropped: ["."] });
  expect((await protectSearchPath(undefined, OTHER)).path).toContain(SYSTEM);
});
