import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { bundleTurnd, STARTED_HERE } from "../../scripts/bundle-turnd.ts";
import { TURND } from "../../scripts/bundles.mjs";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const COPIED = [
  "package.json",
  "package-lock.json",
  "scripts/start.mjs",
  "scripts/bundles.mjs",
  "scripts/install-missing.mjs",
  "scripts/install-packages.mjs",
  "scripts/run-npm.mjs",
  "scripts/node-version.mjs",
];

/** A repository whose bundle, newer than everything in it, prints that it runs, as does its source. */
function tree() {
  const root = temporaryDirectory(onTestFinished);
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const files = TURND.sources.map((source) => (extname(source) === "" ? `${source}/deep/er.ts` : source));
  for (const path of files) put(path, "");
  for (const path of COPIED) cpSync(join(REPOSITORY, path), join(root, path));
  put("scripts/start/main.ts", 'console.log("the source", ...process.argv.slice(2));');
  put("dist/turnd/start.mjs", 'console.log("the bundle", ...process.argv.slice(2));');
  put("dist/turnd/main.mjs", "");
  const directories = files.flatMap((path) => [dirname(path), dirname(dirname(path))]);
  for (const path of [...files, ...COPIED, "scripts/start/main.ts", ...directories, ...TURND.sources])
    utimesSync(join(root, path), 1, 1);
  utimesSync(join(root, TURND.file), 2, 2);
  return {
    root,
    start: async (): Promise<string> => {
      const { stdout } = await execa(process.execPath, [join(root, "scripts/start.mjs"), "doctor", "a b"]);
      return stdout;
    },
  };
}

test("npm start runs the bundle, with its arguments", async () => {
  expect(await tree().start()).toBe("the bundle doctor a b");
});

test.each([
  ["a source is newer", (root: string) => utimesSync(join(root, "src/turnd/protocol/deep/er.ts"), 3, 3)],
  ["a source was removed", (root: string) => rmSync(join(root, "src/turnd/daemon/deep/er.ts"))],
  ["other packages are installed", (root: string) => utimesSync(join(root, "package-lock.json"), 3, 3)],
  ["there is no bundle", (root: string) => rmSync(join(root, "dist"), { recursive: true })],
  ["the bundle was made without it", (root: string) => rmSync(join(root, "dist/turnd/start.mjs"))],
])("npm start runs the source where %s", async (_, change) => {
  const { root, start } = tree();
  change(root);
  expect(await start()).toBe("the source doctor a b");
});

/** What a program sees that an older Node, or another machine, runs. */
function pretending(properties: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(properties).map(
    ([name, value]) => `Object.defineProperty(process, ${JSON.stringify(name)}, { value: ${JSON.stringify(value)} });`,
  );
  return `data:text/javascript,${encodeURIComponent(lines.join(""))}`;
}

const OLD = { versions: { ...process.versions, node: "20.20.2" } };

test("a Node that is too old for the source is named in one line, and so is what to do", async () => {
  const { root } = tree();
  cpSync(join(REPOSITORY, "scripts/setup.mjs"), join(root, "scripts/setup.mjs"));
  const run = (program: string, properties: object) =>
    execa(process.execPath, ["--import", pretending({ ...properties }), join(root, "scripts", program)], {
      reject: false,
    });
  const started = await run("start.mjs", OLD);
  expect([started.exitCode, started.stdout]).toEqual([1, ""]);
  expect(started.stderr).toMatch(
    /^turnd: needs Node 22\.18 or newer, and this is 20\.20\.2: start it with bin\/turnd .*$/,
  );
  // Where the repository brings no Node of its own.
  const setUp = await run("setup.mjs", { ...OLD, arch: "arm64" });
  expect([setUp.exitCode, setUp.stdout]).toEqual([1, ""]);
  expect(setUp.stderr).toMatch(/^turnd: needs Node 22\.18 or newer, and this is 20\.20\.2: install one.*$/);
});

test("an option that npm has taken for itself is no start without it", async () => {
  const { root } = tree();
  const npm = { npm_lifecycle_event: "start", npm_config_scripted: "true" };
  const started = await execa(process.execPath, [join(root, "scripts/start.mjs")], { reject: false, env: npm });
  expect([started.exitCode, started.stdout]).toEqual([2, ""]);
  expect(started.stderr).toBe("turnd: npm has taken --scripted for itself: npm start -- --scripted");
});

test("npm start goes on in the Node that came with the packages it has installed", async () => {
  const { root } = tree();
  const installer = "export const installMissing = () => ({ hasInstalled: true, wasBuilt: false });";
  writeFileSync(join(root, "scripts/install-missing.mjs"), installer);
  mkdirSync(join(root, "node_modules/.bin"), { recursive: true });
  const node = join(root, "node_modules/.bin/node");
  writeFileSync(node, '#!/bin/sh\necho "the new Node, as process $$:" "$@"\n', { mode: 0o755 });
  const start = join(root, "scripts/start.mjs");
  const started = execa(process.execPath, [start, "serve", "a b"], { env: { npm_lifecycle_event: "start" } });
  expect((await started).stdout).toBe(`the new Node, as process ${started.pid}: ${start} serve a b`);
});

test("every file that the bundle is made of makes it old", async () => {
  const target = temporaryDirectory(onTestFinished);
  symlinkSync(join(REPOSITORY, "node_modules"), join(target, "node_modules"));
  const inputs = (await bundleTurnd(target, STARTED_HERE)).filter((path) => /^(src|scripts)\//.test(path));
  expect(inputs.length).toBeGreaterThan(300);
  inputs.push(...scriptsOf("scripts/bundle-turnd.ts"));
  expect(inputs).toContain("scripts/bundle-turnd.ts");
  const isListed = (path: string): boolean =>
    TURND.sources.some((source) => path === source || path.startsWith(`${source}/`));
  expect(inputs.filter((path) => !isListed(path))).toEqual([]);
});

test("a turnd that keeps code and another build disturb no build", async () => {
  const target = temporaryDirectory(onTestFinished);
  symlinkSync(join(REPOSITORY, "node_modules"), join(target, "node_modules"));
  const cache = join(target, "dist/turnd/cache");
  mkdirSync(cache, { recursive: true });
  const keep = `const fs = require("node:fs"), directory = ${JSON.stringify(join(cache, "node"))};
    for (;;) try {
      fs.mkdirSync(directory, { recursive: true });
      fs.writeFileSync(directory + "/code", "");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }`;
  const keeping = execa(process.execPath, ["--eval", keep], { reject: false });
  onTestFinished(async () => {
    keeping.kill("SIGKILL");
    await keeping;
  });
  const program = `import { bundleTurnd } from ${JSON.stringify(join(REPOSITORY, "scripts/bundle-turnd.ts"))};
    await bundleTurnd(${JSON.stringify(target)});`;
  const build = () => execa(process.execPath, ["--input-type=module", "--eval", program]);
  await Promise.all([build(), build()]);
  expect(readdirSync(join(target, "dist/turnd")).toSorted()).toEqual([
    "cache",
    "main.mjs",
    "otlp-tracing.cjs",
    "program.cjs",
  ]);
});

/** A script and what it imports, in the repository: what makes the bundle. */
function scriptsOf(path: string): string[] {
  const imported = readFileSync(join(REPOSITORY, path), "utf8").matchAll(/^import .* from "(\.[^"]+)"/gm);
  return [path, ...Array.from(imported, ([, name = ""]) => scriptsOf(join(dirname(path), name))).flat()];
}
