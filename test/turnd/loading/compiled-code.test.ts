import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { openCompiledCode, type CompiledCode } from "../../../src/turnd/loading/compiled-code.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

const SOURCE = Buffer.from("(function(){})");
const CODE = Buffer.from("what V8 has made of it");

function makeCache(): string {
  const cache = join(temporaryDirectory(onTestFinished), "cache");
  mkdirSync(cache);
  return cache;
}

function open(cache: string): CompiledCode {
  const opened = openCompiledCode(cache);
  return typeof opened === "string" ? expect.unreachable(opened) : opened;
}

/** A cache that holds the code of one part, and the path of its file. */
function makeKept(): { cache: string; path: string } {
  const cache = makeCache();
  open(cache).keep("part.cjs", SOURCE, CODE);
  const [path = ""] = readdirSync(cache, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return { cache, path };
}

test("what is kept is given back, to whoever opens the directory next", () => {
  const { cache } = makeKept();
  expect(open(cache).take("part.cjs", SOURCE)).toEqual(CODE);
  expect(open(cache).take("other.cjs", SOURCE)).toBeUndefined();
});

test("the code of another source is not given, were it as long", () => {
  const { cache } = makeKept();
  expect(open(cache).take("part.cjs", Buffer.from("(function(){ })"))).toBeUndefined();
  expect(open(cache).take("part.cjs", Buffer.from("(function( ){}"))).toBeUndefined();
});

test("what a disk has damaged is not given, and is replaced", () => {
  const changes: ((path: string, bytes: Buffer) => void)[] = [
    (path) => truncateSync(path, 0),
    (path) => truncateSync(path, 40),
    (path, { length }) => truncateSync(path, length - 1),
    ...Array.from(CODE, (_, index) => (path: string, bytes: Buffer): void => {
      const at = bytes.length - 1 - index;
      bytes[at] = ~(bytes[at] ?? 0);
      writeFileSync(path, bytes);
    }),
    (path, bytes) => writeFileSync(path, Buffer.concat([bytes, Buffer.from("more")])),
  ];
  for (const change of changes) {
    const { cache, path } = makeKept();
    change(path, readFileSync(path));
    expect(open(cache).take("part.cjs", SOURCE)).toBeUndefined();
    open(cache).keep("part.cjs", SOURCE, CODE);
    expect(open(cache).take("part.cjs", SOURCE)).toEqual(CODE);
  }
});

const MODULE = JSON.stringify(join(REPOSITORY, "src/turnd/loading/compiled-code.ts"));

/** The program of a process that keeps much code. */
const keepMuch = (cache: string): string => `const { openCompiledCode } = await import(${MODULE});
  openCompiledCode(${JSON.stringify(cache)}).keep("part.cjs", Buffer.from("()"), Buffer.alloc(200_000_000));`;

test("what a process leaves that is killed while it writes is gone once another keeps the part", async () => {
  const cache = makeCache();
  const killed = execa(process.execPath, ["--input-type=module", "--eval", keepMuch(cache)], { reject: false });
  await expect.poll(() => readdirSync(cache, { recursive: true }).length, { interval: 1, timeout: 60_000 }).toBe(2);
  killed.kill("SIGKILL");
  await killed;
  open(cache).keep("part.cjs", SOURCE, CODE);
  expect(readdirSync(cache, { recursive: true }).map((path) => basename(String(path)))).toEqual([
    expect.stringMatching(/^node-/),
    "part.cjs",
  ]);
});

test("what a full disk has not taken is no longer there", async () => {
  const cache = makeCache();
  const limited = ["-c", 'ulimit -f 100; exec "$@"', "sh", process.execPath, "--input-type=module", "--eval"];
  const failed = await execa("sh", [...limited, keepMuch(cache)], { reject: false });
  expect(failed.stderr).toContain("EFBIG");
  expect(readdirSync(cache, { recursive: true })).toEqual([expect.stringMatching(/^node-/)]);
});

test("no code is taken from where another user than root can write", () => {
  const refused: [cache: string, reason: RegExp][] = [[join(temporaryDirectory(onTestFinished), "missing"), /ENOENT/]];
  const add = (reason: RegExp, change: (cache: string) => void): void => {
    const { cache } = makeKept();
    change(cache);
    refused.push([cache, reason]);
  };
  add(/others may write/, (cache) => chmodSync(cache, 0o775));
  add(/others may write/, (cache) => chmodSync(join(cache, ".."), 0o1777));
  add(/others may write/, (cache) => {
    writeFileSync(join(cache, "file"), "");
    chmodSync(join(cache, "file"), 0o666);
  });
  const link = join(temporaryDirectory(onTestFinished), "cache");
  symlinkSync(makeCache(), link);
  refused.push([link, /is a link/]);
  add(/is a link/, (cache) => symlinkSync(makeCache(), join(cache, "v22")));
  if (!CLI_USER.isSelf) {
    const give = (path: string): void => chownSync(path, CLI_USER.uid, CLI_USER.gid);
    add(/belongs to uid/, give);
    add(/belongs to uid/, (cache) => {
      mkdirSync(join(cache, "v22"));
      give(join(cache, "v22"));
    });
    add(/belongs to uid/, (cache) => {
      mkdirSync(join(cache, "v22"));
      writeFileSync(join(cache, "v22/code"), "");
      give(join(cache, "v22/code"));
    });
  }
  for (const [cache, reason] of refused) expect(openCompiledCode(cache)).toMatch(reason);
});
