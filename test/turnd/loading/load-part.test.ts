import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { toAscii, toPart } from "../../../scripts/bundle-parts.ts";
import { loadPart } from "../../../src/turnd/loading/load-part.ts";
import { startDaemon, type TestDaemon } from "../../harness/daemon.ts";
import { fakeEnv } from "../../harness/fake-env.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

/** Puts parts beside one another, made of modules by their names. */
async function putParts(modules: Readonly<Record<string, string>>): Promise<(name: string) => string> {
  const directory = temporaryDirectory(onTestFinished);
  for (const [name, module] of Object.entries(modules))
    writeFileSync(join(directory, name), toAscii(await toPart(module)));
  return (name) => join(directory, name);
}

test("a part gives what its module exports, and what that is now", async () => {
  const pathOf = await putParts({
    "a.cjs":
      'import { count, more } from "./b.cjs"; more(); export { count }; export const places = [import.meta.url, import.meta.dirname];',
    "b.cjs": "export let count = 0; export function more() { count += 1; }",
  });
  expect(loadPart(pathOf("a.cjs"))).toMatchObject({
    count: 1,
    places: [`file://${pathOf("a.cjs")}`, dirname(pathOf("a.cjs"))],
  });
  expect(loadPart(pathOf("b.cjs"))).toMatchObject({ count: 1 });
});

test("parts that need one another are loaded once", async () => {
  const pathOf = await putParts({
    "a.cjs": 'import { b } from "./b.cjs"; export const a = () => "a"; export const both = () => a() + b();',
    "b.cjs": 'import { a } from "./a.cjs"; export const b = () => "b"; export const both = () => b() + a();',
  });
  expect(loadPart(pathOf("a.cjs"))).toMatchObject({ both: expect.any(Function) });
  const load = (name: string): { both: () => string } => loadPart(pathOf(name)) as { both: () => string };
  expect([load("a.cjs").both(), load("b.cjs").both()]).toEqual(["ab", "ba"]);
});

test("what is imported when it runs is a part too, and Node's modules and packages are Node's", async () => {
  const pathOf = await putParts({
    "a.cjs": `export const later = async () => (await import("./b.cjs")).b;
      export const join = require("node:path").join; export const where = (name) => require.resolve(name);`,
    "b.cjs": 'export const b = "b";',
  });
  const part = loadPart(pathOf("a.cjs")) as {
    later: () => Promise<string>;
    join: unknown;
    where: (name: string) => string;
  };
  expect([await part.later(), part.join, part.where("node:fs")]).toEqual(["b", join, "node:fs"]);
  expect(() => part.where("no-such-package")).toThrow("no-such-package");
});

test("a part that fails is loaded anew when it is asked for again", async () => {
  const pathOf = await putParts({ "a.cjs": 'import { b } from "./b.cjs"; export const a = b;' });
  expect(() => loadPart(pathOf("a.cjs"))).toThrow("ENOENT");
  writeFileSync(pathOf("b.cjs"), toAscii(await toPart('throw new Error("not yet");')));
  expect(() => loadPart(pathOf("a.cjs"))).toThrow("not yet");
  writeFileSync(pathOf("b.cjs"), toAscii(await toPart('export const b = "now";')));
  expect(loadPart(pathOf("a.cjs"))).toMatchObject({ a: "now" });
});

test("a part is ASCII, in regular expressions too", async () => {
  const pathOf = await putParts({ "a.cjs": 'export const found = /модель|モデル/u.exec("die モデル")[0]; /*! © */' });
  expect(readFileSync(pathOf("a.cjs"), "latin1")).toMatch(/^[\0-\x7f]*$/);
  expect(loadPart(pathOf("a.cjs"))).toMatchObject({ found: "モデル" });
});

test("a part is strict, as modules are", async () => {
  const pathOf = await putParts({
    "a.cjs": "export const self = (function () { return this; })(); export const set = () => { undeclared = 1; };",
  });
  const part = loadPart(pathOf("a.cjs")) as { self: unknown; set: () => void };
  expect(part.self).toBeUndefined();
  expect(part.set).toThrow(ReferenceError);
});

test("what a script cannot have is no part", async () => {
  await expect(toPart("export const isMain = import.meta.main;")).rejects.toThrow("import.meta");
  await expect(toPart("await 1;")).rejects.toThrow("await");
});

/** A bundle of its own, whose compiled code is not others'. */
function ownBundle(): { program: string; cache: string } {
  const given = dirname(inject("turnd"));
  const root = temporaryDirectory(onTestFinished);
  const directory = join(root, "dist/turnd");
  mkdirSync(directory, { recursive: true });
  cpSync(join(given, "parts"), join(directory, "parts"), { recursive: true });
  cpSync(join(given, "main.mjs"), join(directory, "main.mjs"));
  mkdirSync(join(directory, "cache"));
  symlinkSync(join(REPOSITORY, "sandbox"), join(root, "sandbox"));
  symlinkSync(join(given, "../../node_modules"), join(root, "node_modules"));
  return { program: join(directory, "main.mjs"), cache: join(directory, "cache") };
}

/** Which files are kept, and which inode and time each has: another after it was made again. */
function keptIn(cache: string): Map<string, string> {
  const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const { ino, mtimeMs } = statSync(join(parentPath, name));
      return [join(parentPath, name), `${ino} ${mtimeMs}`];
    }),
  );
}

test("a second start compiles no part anew, and one on damaged code makes that again", async () => {
  const { program, cache } = ownBundle();
  const directory = temporaryDirectory(onTestFinished);
  const start = (): Promise<TestDaemon> => startDaemon({ directory, env: fakeEnv(directory), program });
  // The document is a part that is loaded when V8's optimisers work already.
  const use = async (turnd: TestDaemon): Promise<void> => {
    expect((await turnd.run({ executor: "cli-b", input: "say hello" })).status).toBe("completed");
    expect((await turnd.request("GET", "/openapi.json")).status).toBe(200);
  };
  const first = await start();
  // While it runs, so that one that is killed later has kept it too.
  await expect.poll(() => keptIn(cache).size, { timeout: 60_000 }).toBeGreaterThan(20);
  await use(first);
  expect(await first.stop()).toBe(0);
  const kept = keptIn(cache);
  const second = await start();
  await use(second);
  expect(await second.stop()).toBe(0);
  expect(keptIn(cache)).toEqual(kept);
  for (const path of kept.keys()) {
    const bytes = readFileSync(path);
    bytes.fill(0xff, bytes.length / 2);
    writeFileSync(path, bytes);
  }
  const third = await start();
  await use(third);
  expect(await third.stop()).toBe(0);
  const again = keptIn(cache);
  expect([...again.keys()].toSorted()).toEqual([...kept.keys()].toSorted());
  expect([...again].filter(([path, mark]) => kept.get(path) === mark)).toEqual([]);
});

test("a process that nothing wakes keeps every part", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `${index}.cjs`);
  const pathOf = await putParts(Object.fromEntries(names.map((name) => [name, "export const a = 1;"])));
  const cache = pathOf("cache");
  mkdirSync(cache);
  const loader = JSON.stringify(join(REPOSITORY, "src/turnd/loading/load-part.ts"));
  const program = `const { keepCompiledCode, loadPart, useCompiledCode } = await import(${loader});
    useCompiledCode(${JSON.stringify(cache)}, { asAtStart: (run) => run() });
    for (const path of ${JSON.stringify(names.map(pathOf))}) loadPart(path);
    keepCompiledCode();
    require("node:net").createServer().listen(0, "127.0.0.1");`;
  const waits = execa(process.execPath, ["--eval", `void (async () => { ${program} })()`], { reject: false });
  onTestFinished(async () => {
    waits.kill("SIGKILL");
    await waits;
  });
  await expect.poll(() => keptIn(cache).size, { timeout: 60_000 }).toBe(names.length);
});

test("why compiled code cannot be kept is in the log, and turnd works as ever", async () => {
  const { program, cache } = ownBundle();
  // In the place of this Node's directory.
  writeFileSync(join(cache, `node-${process.version}-${process.arch}`), "");
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await startDaemon({ directory, env: { ...fakeEnv(directory), TURND_LOG_LEVEL: "debug" }, program });
  const said = (): string[] => turnd.log.filter((line) => line.includes('"msg":"compiled code is not kept"'));
  await expect.poll(said, { timeout: 60_000 }).toHaveLength(1);
  expect(said()[0]).toMatch(/EEXIST|ENOTDIR/);
  expect((await turnd.run({ executor: "cli-b", input: "say hello" })).status).toBe("completed");
  expect(await turnd.stop()).toBe(0);
});

test("a command that ends at once keeps nothing: a start would take it for all there is", async () => {
  const { program, cache } = ownBundle();
  for (const args of [["--help"], ["--version"], ["serve", "--help"]])
    expect((await execa(process.execPath, [program, ...args])).exitCode).toBe(0);
  expect(keptIn(cache).size).toBe(0);
});
