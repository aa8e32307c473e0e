import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const SOURCE = join(REPOSITORY, "src/daemon/compile-cache.ts");

/** Runs a program that first tries each of the caches. @returns what it printed: a reason or null for each, and its own line */
async function runWith(caches: readonly string[], program: string): Promise<unknown[]> {
  const script = `import module from "node:module"; import { useCompileCache } from ${JSON.stringify(SOURCE)};
    const reasons = ${JSON.stringify(caches)}.map((cache) => useCompileCache(cache) ?? null);
    const { answer } = await import(${JSON.stringify(program)});
    console.log(JSON.stringify([...reasons, answer(), module.getCompileCacheDir() ?? "no cache"]));`;
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", script]);
  const lines: unknown = JSON.parse(stdout);
  return Array.isArray(lines) ? lines : expect.unreachable(stdout);
}

function makeProgram(): string {
  const path = join(temporaryDirectory(onTestFinished), "program.mjs");
  writeFileSync(path, 'export const answer = () => ["what", "the source", "says"].join(" ");\n');
  return path;
}

function makeCache(): string {
  const cache = join(temporaryDirectory(onTestFinished), "cache");
  mkdirSync(cache);
  return cache;
}

test("compiled code is kept, and garbage in its place is compiled anew", async () => {
  const [program, cache] = [makeProgram(), makeCache()];
  const [reason, answer, used] = await runWith([cache], program);
  expect([reason, answer]).toEqual([null, "what the source says"]);
  const kept = readdirSync(String(used)).map((name) => join(String(used), name));
  expect(kept.length).toBeGreaterThan(0);
  for (const garbage of [Buffer.alloc(0), Buffer.alloc(4_096, 7)]) {
    for (const path of kept) writeFileSync(path, garbage);
    expect(await runWith([cache], program)).toEqual([null, "what the source says", used]);
  }
  for (const path of kept) {
    const bytes = readFileSync(path);
    bytes.fill(0xff, bytes.length / 2);
    writeFileSync(path, bytes);
  }
  expect(await runWith([cache], program)).toEqual([null, "what the source says", used]);
});

test("no code is taken from where another user than root can write", async () => {
  const others: [cache: string, reason: RegExp][] = [[join(temporaryDirectory(onTestFinished), "missing"), /ENOENT/]];
  const add = (reason: RegExp, change: (cache: string) => void): void => {
    const cache = makeCache();
    change(cache);
    others.push([cache, reason]);
  };
  add(/others may write/, (cache) => chmodSync(cache, 0o775));
  add(/others may write/, (cache) => chmodSync(join(cache, ".."), 0o1777));
  add(/others may write/, (cache) => {
    writeFileSync(join(cache, "file"), "");
    chmodSync(join(cache, "file"), 0o666);
  });
  const link = join(temporaryDirectory(onTestFinished), "cache");
  symlinkSync(makeCache(), link);
  others.push([link, /is a link/]);
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
  const caches = others.map(([cache]) => cache);
  const printed = await runWith(caches, makeProgram());
  expect(printed.slice(caches.length)).toEqual(["what the source says", "no cache"]);
  others.forEach(([, reason], index) => expect(printed[index]).toMatch(reason));
});
