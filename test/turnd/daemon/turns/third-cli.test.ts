import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { RecordingDocument, type LoggedEvent } from "../../../../src/turnd/protocol/index.ts";
import { renderShapes } from "../../../../scripts/generate/shapes.ts";
import { HAS_CHROMIUM } from "../../../harness/browser.ts";
import { startDaemon, type TestDaemon } from "../../../harness/daemon.ts";
import { openInspector } from "../../../harness/inspector-page.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { withoutTimeAndIds } from "../../../harness/recordings.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { toy } from "../../../third-cli/adapter.ts";

const FOLDER = join(REPOSITORY, "test/third-cli");
const PROGRAM = join(FOLDER, "main.ts");
const KEY = "sk-toy-0123456789abcdef";

let directory: string;
let env: Record<string, string>;
let turnd: TestDaemon;
const cleanUps: (() => void)[] = [];

beforeAll(async () => {
  directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  env = toyEnv(directory);
  turnd = await startDaemon({ directory, env, program: PROGRAM });
});

afterAll(async () => {
  await turnd.stop();
  const left = processesNaming(`${directory}/`, "anywhere");
  for (const cleanUp of cleanUps) cleanUp();
  if (left.length > 0) throw new Error(`processes left behind: ${left.join(" ")}`);
});

/** Where the CLIs' user can run it, whatever the directory of the repository allows. */
function toyEnv(base: string): Record<string, string> {
  const binary = join(base, "bin/toy");
  mkdirSync(join(base, "bin"), { recursive: true });
  copyFileSync(join(FOLDER, "toy-cli"), binary);
  chmodSync(binary, 0o755);
  return { PATH: process.env["PATH"] ?? "", TOY_BIN: binary, TOY_VOICE: "plain", TOY_API_KEY: KEY };
}

/** A command of that turnd. */
async function command(args: readonly string[], input = "") {
  return execa(process.execPath, [PROGRAM, ...args], {
    input,
    reject: false,
    env: {
      ...env,
      TURND_STATE_DIR: join(directory, "state"),
      TURND_HOME: join(directory, "home"),
      TURND_WORKSPACE: join(directory, "workspace"),
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    },
  });
}

function dataOf(events: readonly LoggedEvent[], type: LoggedEvent["type"]) {
  return events.find((event) => event.type === type)?.data;
}

test("a turn of a CLI that turnd was not written for is started, translated and counted", async () => {
  const result = await turnd.run({ executor: "toy", input: "hello there" });
  expect(result).toMatchObject({
    executor: "toy",
    status: "completed",
    output: "You said: hello there",
    usage: { input_tokens: 2, output_tokens: 4 },
    decision: { rule: "completed" },
  });
  const events = await turnd.events(result.turn_id);
  expect(events.map(({ type }) => type)).toEqual(["turn.started", "session.bound", "message", "turn.ended"]);
  expect(new Set(events.map(({ executor }) => executor))).toEqual(new Set(["toy"]));
  expect(dataOf(events, "turn.started")).toMatchObject({ cli: { name: "toy", version: "1.0.0" } });
});

test("its session is resumed by its own id, and a session it has lost is degraded", async () => {
  const first = await turnd.run({ executor: "toy", input: "remember plums" });
  const again = await turnd.run({ session_id: first.session_id, input: "what was before" });
  expect(again).toMatchObject({
    resumed: true,
    native_session_id: first.native_session_id,
    output: "You said before: remember plums",
  });
  const home = join(turnd.state, "sessions", first.session_id, "home/toy");
  rmSync(join(home, first.native_session_id ?? "none"));
  const options = { session_id: first.session_id, input: "what was before" };
  const failed = await turnd.run({ ...options, resume_policy: "fail" });
  expect(failed).toMatchObject({ status: "failed", degraded: true, failure: { code: "resume_degraded" } });
  expect(await turnd.run(options)).toMatchObject({ status: "completed", resumed: false, degraded: true });
});

test("its failures are decided by its own table, and a cancel ends it", async () => {
  const refused = await turnd.run({ executor: "toy", input: "the model answers 401" });
  expect(refused).toMatchObject({
    status: "failed",
    failure: { code: "auth_failed", user_action: "credentials" },
    decision: { rule: "key-refused", seen_in: "toy/1.0.0/key-refused" },
  });
  const { turn_id } = await turnd.admit({ executor: "toy", input: "sleep" });
  for await (const { event } of turnd.follow(turn_id)) if (event === "session.bound") break;
  await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
  expect((await turnd.request("GET", `/v1/turns/${turn_id}`)).body).toMatchObject({ status: "cancelled" });
});

test("records that its table does not have are kept, and counted as drift", async () => {
  const { turn_id } = await turnd.run({ executor: "toy", input: "surprise" });
  expect(dataOf(await turnd.events(turn_id), "record.unknown")).toMatchObject({ reason: "unknown_type" });
  const { body } = await turnd.request("GET", "/v1/executors/toy");
  expect(body).toMatchObject({ id: "toy", name: "toy", available: true, version: "1.0.0", contract_version: "1.0.0" });
  expect(body.drift[0].entries).toEqual([
    { what: "type", name: "surprise", count: 1, first_seen: { in: turn_id, line: 2 } },
  ]);
  expect(body.configuration).toContainEqual({ key: "api_key", value: "***", origin: "TOY_API_KEY" });
});

test("an exported turn is a recording, which is replayed by the API and by the command", async () => {
  const { turn_id } = await turnd.run({ executor: "toy", input: "surprise me" });
  const events = (await turnd.request("GET", `/v1/turns/${turn_id}/events`)).text;
  const exported = await turnd.request("GET", `/v1/turns/${turn_id}/recording`);
  const recording = RecordingDocument.parse(exported.body);
  expect(exported.text).not.toContain(KEY);
  const { body } = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording });
  const replayed = (await turnd.request("GET", `/v1/turns/${body.turn_id}/events`)).text;
  expect(withoutTimeAndIds(replayed)).toEqual(withoutTimeAndIds(events));
  const { stdout, stderr } = await command(["replay", "-"], exported.text);
  expect([stderr, withoutTimeAndIds(stdout)]).toEqual(["", withoutTimeAndIds(events)]);
});

test("what its fixtures show is what its shapes have, and they replay as recorded", async () => {
  const fixtures = join(FOLDER, "fixtures");
  expect(readFileSync(join(FOLDER, "shapes.json"), "utf8")).toBe(await renderShapes(toy, fixtures));
  for (const name of ["says", "key-refused"]) {
    const recorded = join(fixtures, "toy/1.0.0", name);
    const { stdout } = await command(["replay", recorded]);
    expect(withoutTimeAndIds(stdout)).toEqual(withoutTimeAndIds(readFileSync(join(recorded, "events.jsonl"), "utf8")));
  }
});

test("a name that is no executor is refused, and the executors that there are are listed", async () => {
  const message = 'must be one of cli-a (opencode), cli-b (codex), toy, got "cli-z"';
  const refused = { code: "invalid_request", fields: [{ path: "executor", message }] };
  for (const path of ["/v1/turns", "/v1/sessions"]) {
    const body = { executor: "cli-z", ...(path === "/v1/turns" ? { input: "x" } : {}) };
    expect(await turnd.request("POST", path, body)).toMatchObject({ status: 422, body: { detail: refused } });
  }
  const recording = { v: 1, turn: { executor: "cli-z" }, exit: null, stdout: [], stderr: [] };
  const replay = await turnd.request("POST", "/v1/replays", { recording });
  expect([replay.status, replay.body.detail.fields]).toEqual([422, [{ path: "recording.turn.executor", message }]]);
  expect(await turnd.request("GET", "/v1/executors/cli-z")).toMatchObject({
    status: 404,
    body: { detail: { message: "there is no executor cli-z; there are cli-a, cli-b, toy" } },
  });
  const { body: api } = await turnd.request("GET", "/openapi.json");
  expect(api.components.schemas.CliName.enum).toEqual(["cli-a", "cli-b", "toy"]);
});

test("its session outlives a turnd without it: nothing of it runs on, and the session names what is missing", async () => {
  const base = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  const own = toyEnv(base);
  const before = await startDaemon({ directory: base, env: own, program: PROGRAM });
  const { turn_id, session_id } = await before.admit({ executor: "toy", input: "sleep" });
  for await (const { event } of before.follow(turn_id)) if (event === "session.bound") break;
  before.kill("SIGKILL");
  await before.exited;
  const after = await startDaemon({ directory: base, env: own });
  for await (const { event } of after.follow(turn_id)) if (event === "end") break;
  const { body } = await after.request("GET", `/v1/turns/${turn_id}/result`);
  expect(body).toMatchObject({ status: "failed", failure: { code: "executor_unavailable" } });
  expect(body.failure.message).toContain("turnd has no executor toy; it has cli-a, cli-b");
  expect(processesNaming(`${base}/bin/toy`)).toEqual([]);
  expect(await after.request("POST", "/v1/turns", { session_id, input: "on" })).toMatchObject({
    status: 404,
    body: { detail: { code: "executor_not_found" } },
  });
  expect(await after.stop()).toBe(0);
});

/** Commands of the document, in order; each fenced block of a shell is one. */
function commandsOf(document: string): string[] {
  return [...document.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
}

test(
  "docs/adding-a-cli.md names files that are there, and its commands do what it says",
  { timeout: 120_000 },
  async () => {
    const document = readFileSync(join(REPOSITORY, "docs/adding-a-cli.md"), "utf8");
    const named = [...document.matchAll(/`((?:src|test|docs|scripts|sandbox|fixtures)\/[\w./-]+)`/g)].flatMap(
      ([, path = ""]) => path,
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);

    const base = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
    const [setUp = "", ...commands] = commandsOf(document);
    expect(commands.length).toBeGreaterThan(3);
    const outputs: string[] = [];
    for (const block of commands) {
      const script = `set -e\nexport TOY_DIR=${base}\n${setUp}\n${block}`;
      const { stdout } = await execa("bash", ["-c", script], {
        cwd: REPOSITORY,
        env: { PATH: `${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`, ...docEnv() },
      });
      outputs.push(stdout);
    }
    const said = outputs.join("\n");
    expect(said).toMatch(/^ok {4}toy: .*\/toy 1\.0\.0$/m);
    expect(said).toMatch(/^ok {4}toy-configuration: toy accepts its configuration$/m);
    expect(said).toContain("4 scenarios: 0 changes break turnd, 0 do not");
    expect(said).toContain("drift toy 1.0.0: nothing unknown in");
    expect(said).toMatch(/key-refused +failed auth_failed/);
  },
);

/** As the document's reader, who need not be root. */
function docEnv(): Record<string, string> {
  return CLI_USER.isSelf ? { TURND_RUN_AS: "self" } : {};
}

test.skipIf(!HAS_CHROMIUM)("a turn of it is shown in the inspector, which knows nothing of it", async () => {
  const turn = await turnd.run({ executor: "toy", input: "Say hello." });
  const { page, close } = await openInspector(turnd.url);
  onTestFinished(close);
  await page.locator(".turn-link", { hasText: "Say hello." }).first().click();
  await page.locator(".turn-header .status", { hasText: turn.status }).waitFor();
  await page.getByText("complete history").waitFor();
  expect(await page.locator(".event").first().innerText()).toContain("toy");
});
