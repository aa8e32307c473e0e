import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { execa } from "execa";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createTurndClient } from "../../src/turnd/client/turnd-client.ts";
import { fakeDaemonIn } from "../harness/fake-daemon.ts";
import { fakeEnv } from "../harness/fake-env.ts";
import { HAS_CHROMIUM, launchBrowser, visit } from "../harness/browser.ts";
import { startListening } from "../harness/listening-process.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";
import { filesOf, installPackages, type Installed } from "./installed.ts";
import { serveFolder } from "./serve-folder.ts";

let installed: Installed;

beforeAll(async () => {
  installed = await installPackages();
}, 180_000);
afterAll(() => installed?.remove());

/** A daemon of the installed package, started by its command, with the fake CLI B. */
async function startInstalled(more: Readonly<Record<string, string>> = {}): Promise<string> {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await startListening([join(installed.directory, "node_modules/.bin/turnd"), "serve"], {
    ...fakeEnv(directory),
    PATH: `${join(directory, "bin")}:${process.env["PATH"] ?? ""}`,
    TURND_HOST: "127.0.0.1",
    TURND_PORT: "0",
    TURND_STATE_DIR: join(directory, "state"),
    TURND_HOME: userDirectory(join(directory, "home")),
    TURND_WORKSPACE: userDirectory(join(directory, "workspace")),
    TURND_TURN_CGROUPS: "off",
    TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    ...more,
  });
  onTestFinished(async () => {
    turnd.kill("SIGTERM");
    await turnd.exited;
  });
  return turnd.url;
}

/** Runs one of the examples as their README says. */
function runExample(url: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return execa(process.execPath, args, {
    cwd: installed.directory,
    env: { TURND_URL: url, ...env },
    reject: false,
    all: true,
  });
}

const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  dependencies: z.record(z.string(), z.string()),
});

function manifestOf(name: string): z.infer<typeof Manifest> {
  return Manifest.parse(
    JSON.parse(readFileSync(join(installed.directory, "node_modules", name, "package.json"), "utf8")),
  );
}

test("both packages say what they are, and hold what runs and no test, source or secret place", async () => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync("package.json", "utf8")));
  for (const [name, tarball] of Object.entries({ turnd: installed.turnd, "turnd-client": installed.client })) {
    expect(manifestOf(name)).toMatchObject({ name, version, license: "Apache-2.0" });
    const files = await filesOf(tarball);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "CHANGELOG.md", "package.json"]));
    // The CLIs that tests install beside it have 1.1 GB.
    expect(statSync(tarball).size).toBeLessThan(20_000_000);
    expect(files.filter((path) => /(^|\/)(test|tests|fixtures|src)\/|\.test\.|(?<!\.d)\.ts$/.test(path))).toEqual([]);
  }
  expect(Object.keys(manifestOf("turnd-client").dependencies).toSorted()).toEqual(["eventsource-parser", "zod"]);
});

test("a plain npm pack of the repository holds what runs and not the tests either", async () => {
  const { stdout } = await execa("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"], { cwd: REPOSITORY });
  const Listing = z.tuple([z.object({ files: z.array(z.object({ path: z.string() })) })]);
  const [{ files }] = Listing.parse(JSON.parse(stdout));
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["bin/turnd", "sandbox/keeper", "LICENSE", "CHANGELOG.md"]));
  expect(paths.filter((path) => /^(test|src|fixtures|scripts|docs)\//.test(path))).toEqual([]);
});

test("the installed turnd prints its version, and serves its documents, its page and a turn", async () => {
  const bin = join(installed.directory, "node_modules/.bin/turnd");
  const { stdout } = await execa(bin, ["--version"]);
  expect(stdout).toContain(manifestOf("turnd").version);
  const url = await startInstalled();
  for (const path of ["/docs/", "/docs/static/swagger-ui.css", "/openapi.json", "/"]) {
    const answer = await fetch(`${url}${path}`);
    expect([path, answer.status, (await answer.text()).length > 100]).toEqual([path, 200, true]);
  }
  const { all, exitCode } = await runExample(url, ["runtime.ts", "tool ls\nDone."]);
  expect(all).toContain("Done.");
  expect(all).toContain("completed");
  expect(exitCode).toBe(0);
});

test("the README of the package runs a turn with what is installed", async () => {
  const directory = temporaryDirectory(onTestFinished);
  chmodSync(directory, 0o755);
  symlinkSync(join(installed.directory, "node_modules"), join(directory, "node_modules"));
  const readme = readFileSync(join(installed.directory, "node_modules/turnd/README.md"), "utf8");
  const [first = "", run = ""] = [...readme.matchAll(/```sh\n([^]*?)```/g)].map(([, block = ""]) => block);
  expect(first).toMatch(/^npm install \.\/turnd-\*\.tgz @openai\/codex\n/);
  // The fake CLI B goes by a name of its own: its home variable follows from it.
  const serve = first
    .replace(/^.*\n/, "")
    .replace("CLI_B_NAME=codex", "CLI_B_NAME=fake-cli-b")
    // npx passes no signal on.
    .replace("npx turnd serve", "exec node_modules/.bin/turnd serve");
  const { CLI_B_BIN: codex = "", CLI_B_SANDBOX_MODE: mode = "" } = fakeEnv(directory);
  const env = { PATH: process.env["PATH"] ?? "", HOME: directory };
  const machine = { CLI_B_BIN: codex, CLI_B_SANDBOX_MODE: mode, TURND_TURN_CGROUPS: "off", TURND_PORT: "0" };
  const turnd = await startListening(["bash", "--norc", "-euc", serve], { ...env, ...machine }, directory);
  onTestFinished(async () => {
    turnd.kill("SIGTERM");
    await turnd.exited;
  });
  const { exitCode, stdout, stderr } = await execa("bash", ["--norc", "-euc", run], {
    cwd: directory,
    stdin: "ignore",
    env: { ...env, TURND_URL: turnd.url },
    extendEnv: false,
    reject: false,
  });
  expect([exitCode, stderr], stdout).toEqual([0, ""]);
  expect(stdout).toMatch(/^turn \S+, cli-b [^]*\ncompleted in /);
});

test("a runtime that is killed goes on with the same turn at its cursor", async () => {
  const daemon = await fakeDaemonIn(temporaryDirectory(onTestFinished));
  const file = join(temporaryDirectory(onTestFinished), "turn.json");
  const first = runExample(daemon.url, ["runtime.ts", "paced 20 0.1\nDone."], { TURN_FILE: file });
  const Kept = z.object({ request_id: z.string(), cursor: z.string().optional() });
  const kept = (): z.infer<typeof Kept> => Kept.parse(JSON.parse(readFileSync(file, "utf8")));
  await waitFor("the third event", () => {
    return existsSync(file) && Number.parseInt(kept().cursor ?? "0", 10) >= 3;
  });
  first.kill("SIGKILL");
  const before = (await first).all;
  const second = await runExample(daemon.url, ["runtime.ts"], { TURN_FILE: file });
  expect(second.all).toMatch(/completed$/);
  const said = [...before.split("\n"), ...second.all.split("\n")].filter((text) => /^\w+ \d+$/.test(text));
  expect(await createTurndClient({ baseUrl: daemon.url }).turns()).toHaveLength(1);
  // What was said when the kill came is said again at most once; nothing is left out.
  expect(new Set(said).size).toBe(20);
  expect(said.length).toBeLessThanOrEqual(21);
});

test.each(["docs/calling-turnd.md", "src/turnd/client/README.md"])(
  "%s begins with the runtime that is run here",
  (path) => {
    const example = readFileSync(join(REPOSITORY, "examples/runtime.ts"), "utf8");
    const [, block] = /```ts\n(.*?)```/s.exec(readFileSync(join(REPOSITORY, path), "utf8")) ?? [];
    expect(block).toBe(example.slice(example.indexOf("\n") + 1));
  },
);

test("a replay check writes what it finds, agrees with it, and fails where it is otherwise", async () => {
  const daemon = await fakeDaemonIn(temporaryDirectory(onTestFinished));
  const directory = temporaryDirectory(onTestFinished);
  const { turn_id: turnId } = await daemon.run({ executor: "cli-b", input: "tool ls\nDone." });
  const recording = await (await fetch(`${daemon.url}/v1/turns/${turnId}/recording`)).text();
  const file = join(directory, "ls.recording.json");
  writeFileSync(file, recording);
  expect(await runExample(daemon.url, ["replay-check.ts", file])).toMatchObject({ exitCode: 0, all: /^new/ });
  const again = await runExample(daemon.url, ["replay-check.ts", file]);
  expect([again.exitCode, again.all]).toEqual([0, `ok    ${file}`]);
  const expectation = join(directory, "ls.expected.json");
  writeFileSync(expectation, readFileSync(expectation, "utf8").replace('"completed"', '"failed"'));
  const other = await runExample(daemon.url, ["replay-check.ts", file]);
  expect(other.exitCode).toBe(1);
  expect(other.all).toContain(`FAIL  ${file}`);
});

const CONSUMER = `
import { createTurndClient, TurndHistoryError, type NewerWord, type ReadEvent } from "turnd-client";
const turnd = createTurndClient({ baseUrl: "http://127.0.0.1:8091" });
export async function run(): Promise<string> {
  const { turn_id } = await turnd.submit({ executor: "cli-b", input: "x" });
  for await (const event of turnd.follow(turn_id)) {
    if (event.type === "tool.ended")
      return event.data.status satisfies "completed" | "failed" | "denied" | "interrupted" | NewerWord;
    // @ts-expect-error -- a message has a text
    if (event.type === "message") return event.data.words;
  }
  return new TurndHistoryError("gap", 1, "x").reason;
}
export const typeOf = (event: ReadEvent): string => event.type;
`;

test("a TypeScript consumer compiles, with the types of Node and with those of a browser alone", async () => {
  writeFileSync(join(installed.directory, "consumer.ts"), CONSUMER);
  const tsc = join(REPOSITORY, "node_modules/.bin/tsc");
  const common = ["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2023"];
  const options = { cwd: installed.directory, reject: false, all: true } as const;
  const asBrowser = ["--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2023,dom", "--types", ""];
  expect((await execa(tsc, [...common, ...asBrowser, "consumer.ts"], options)).all).toBe("");
  const asNode = ["--module", "nodenext", "--skipLibCheck", "--types", "node"];
  const roots = ["--typeRoots", join(REPOSITORY, "node_modules/@types")];
  const files = ["consumer.ts", "runtime.ts", "replay-check.ts"];
  expect((await execa(tsc, [...common, ...asNode, ...roots, ...files], options)).all).toBe("");
  // The package's own types are checked too.
  const as16 = ["--module", "node16", "--moduleResolution", "node16", "--types", "node", ...roots, "consumer.ts"];
  expect((await execa(tsc, [...common, ...as16], options)).all).toBe("");
});

test("a bundler makes one file for browsers of it, which asks for nothing of Node", async () => {
  const entry = { contents: `export * from "turnd-client";`, resolveDir: installed.directory };
  const { metafile, outputFiles } = await build({
    stdin: entry,
    bundle: true,
    platform: "browser",
    format: "esm",
    target: ["chrome116", "firefox124", "safari17.4"],
    minify: true,
    metafile: true,
    write: false,
  });
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  expect(outputFiles.map(({ contents }) => contents.length < 400_000)).toEqual([true]);
});

test.skipIf(!HAS_CHROMIUM)("the page runs a turn from another origin in Chromium, and says what is wrong", async () => {
  const origin = await serveFolder(installed.directory);
  const daemon = await fakeDaemonIn(temporaryDirectory(onTestFinished), {
    TURND_TOKEN: "secret-token-1",
    TURND_CORS_ORIGINS: origin,
  });
  const { page, close } = await launchBrowser({ width: 800, height: 600 });
  onTestFinished(close);
  await visit(page, `${origin}/page.html`);
  await page.locator("[name=url]").fill(daemon.url);
  await page.locator("[name=input]").fill("tool ls\nDone.");
  await page.locator("button").first().click();
  await waitFor("the refusal", async () => (await page.locator("#status").innerText()).includes("token"));
  await page.locator("[name=token]").fill("secret-token-1");
  await page.locator("button").first().click();
  await waitFor("the end", async () => (await page.locator("#status").innerText()) === "completed");
  expect(await page.locator("#events").innerText()).toContain("Done.");
});
