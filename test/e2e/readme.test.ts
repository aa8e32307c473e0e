import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { createClient } from "../harness/client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { blocks, find, run, start } from "./run-documents.ts";

const README = readFileSync(join(REPOSITORY, "README.md"), "utf8");
const CALLING = readFileSync(join(REPOSITORY, "docs/calling-turnd.md"), "utf8");
const OBSERVABILITY = readFileSync(join(REPOSITORY, "docs/observability.md"), "utf8");
const BROWSERS = readFileSync(join(REPOSITORY, "docs/browsers.md"), "utf8");
const TERMINAL = readFileSync(join(REPOSITORY, "docs/terminal.md"), "utf8");
const REPLAYING = readFileSync(join(REPOSITORY, "docs/replaying.md"), "utf8");

test("the one command runs a real turn on each CLI, and runs of the service", { timeout: 600_000 }, async () => {
  const result = await run(find(README, "npm run demo"));
  expect(result.exitCode, result.stdout + result.stderr).toBe(0);
  expect(result.stdout).toMatch(/cli-a[^]*cli-b[^]*Every check held/);
  expect(
    result.stdout.match(/^ {2}✓ .*/gm)?.map((line) => line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+|svkey_\w+|\d+/g, "#")),
  ).toEqual(
    expect.arrayContaining([
      expect.stringContaining("the same request_id twice is one key: #…"),
      expect.stringContaining("submitted twice with one request_id: one run"),
      "  ✓ # events over # connections, from # to # without a gap",
      expect.stringContaining("OpenAI-style messages in, choices out"),
      expect.stringContaining("is queued, position #"),
      expect.stringContaining("queue_policy reject: rejected, thread_busy"),
      expect.stringContaining("cancelled, and confirmed by the end of its turn"),
      expect.stringContaining("`continue` let the waiting request run"),
    ]),
  );
});

test(
  "what `npm start` serves answers the README's curl with events, and SIGTERM ends it with 0",
  { timeout: 300_000 },
  async () => {
    const { host, log, stop } = await start("exec npm start");
    const reasons = await waitFor(
      "what to set",
      () => log.join("\n").includes("no executor can run") && log.join("\n"),
    );
    expect(reasons).toMatch(/"executor":"cli-a"[^}]*set CLI_A_API_KEY/);
    expect(reasons).toMatch(/"executor":"cli-b"[^}]*set CLI_B_API_KEY/);
    const result = await run(find(README, "text/event-stream").replaceAll("127.0.0.1:8091", host));
    expect(result.exitCode, result.stderr).toBe(0);
    expect(result.stdout).toMatch(/^id: 1$[^]*^event: end$/m);
    expect(result.stdout).toMatch(/"code":"credential_missing"/);
    expect(await stop()).toBe(0);
  },
);

test("the first screen shows a whole turn of each CLI without a key", { timeout: 300_000 }, async () => {
  const { host, state, stop } = await start(`exec ${find(README, "--scripted")}`);
  const env = { TURND_URL: `http://${host}` };
  const command = find(README, "bin/turnd run");
  for (const executor of ["codex", "opencode"]) {
    const { exitCode, stdout, stderr } = await run(command.replace("codex", executor), env);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /^turn \S+, cli-[ab] [^]*\n\* execute: sh sum\.sh\n {2}the sum of 1 to 10 is 55\n[^]*\ncompleted in /,
    );
  }
  const curl = await run(find(README, "text/event-stream").replaceAll("127.0.0.1:8091", host));
  expect(curl.stdout).toMatch(/^id: 1$[^]*"status":"completed"/m);
  const doctor = `TURND_STATE_DIR=${state} bin/turnd doctor`;
  const beside = await run(doctor);
  expect(beside.stderr).toMatch(/^turnd: what is not set here is as for the turnd that runs, process \d+$/m);
  expect(beside.stdout).toMatch(/^ok +workspace:/m);
  for (const cli of ["cli-a", "cli-b"]) expect(beside.stdout).toMatch(new RegExp(`^ok +${cli}-configuration:`, "m"));
  const recording = join(temporaryDirectory(onTestFinished), "recording");
  const record =
    find(REPLAYING, "turnd record")
      .split("\n")
      .find((line) => line.startsWith("bin/turnd record")) ?? "";
  const [, turn = ""] = /"turn_id":"([^"]*)"/.exec(curl.stdout) ?? [];
  const recorded = await run(
    `export TURND_STATE_DIR=${state} turn=${turn}\n${record.replace("some/new/directory", recording)}`,
  );
  expect([recorded.exitCode, recorded.stdout]).toEqual([0, recording]);
  expect(recorded.stderr).toMatch(/^turnd: what is not set here is as for the turnd that runs, process \d+$/m);
  expect(existsSync(join(recording, "stdout.jsonl"))).toBe(true);
  expect(await stop()).toBe(0);
  const alone = await run(doctor);
  expect([alone.stderr, alone.exitCode]).toEqual(["", 1]);
});

test("the first example of docs/terminal.md gives the URL of a page that is served", { timeout: 300_000 }, async () => {
  const [serve = "", ask = ""] = (blocks(TERMINAL)[0] ?? "").split("\n");
  const { host, stop } = await start(serve.replace("=6080 npm", "=0 exec npm"));
  const asked = await run(ask.replaceAll("127.0.0.1:8091", host));
  const [, example = ""] = /# (\{.*)$/.exec(ask) ?? [];
  expect(asked.stdout.replace(/:\d+\/terminal\?session_id=[^"]+/, ":6080/terminal?session_id=…")).toBe(example);
  const page = await fetch(JSON.parse(asked.stdout).data);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
  expect(await stop()).toBe(0);
});

test("the command of docs/browsers.md lets pages of that origin, and callers with that token, in", async () => {
  const command = (blocks(BROWSERS)[0] ?? "").replace("TURND_TOKEN=…", "TURND_TOKEN=a-token-of-a-test");
  const { host, stop } = await start(command.replace(" npm start", " exec npm start"));
  const headers = { origin: "http://localhost:5173" };
  const refused = await fetch(`http://${host}/v1/turns`, { headers });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, headers.origin]);
  const authorization = "Bearer a-token-of-a-test";
  const answered = await fetch(`http://${host}/v1/turns`, { headers: { ...headers, authorization } });
  expect([answered.status, answered.headers.get("access-control-allow-origin")]).toEqual([200, headers.origin]);
  expect(await stop()).toBe(0);
}, 300_000);

test("sessions, files, diffs, traces and shells are used as their documents say", { timeout: 300_000 }, async () => {
  const secrets = { TURND_SESSION_SECRETS: "KB_TOKEN", KB_TOKEN: "not-shown-anywhere" };
  const { host, state, log, stop } = await start("exec npm start -- --scripted", secrets);
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "input.csv"), "a,b\n1,2\n");
  const files = `${find(CALLING, '"instructions"')}\n${find(CALLING, "-T input.csv")}`;
  const used = await run(files.replaceAll("127.0.0.1:8091", host), {}, directory);
  expect(used.exitCode, used.stdout + used.stderr).toBe(0);
  expect(used.stdout).toMatch(/"entries":\[\{"name":"input\.csv"[^]*\}a,b\n1,2$/);
  expect(used.stdout).not.toMatch(/"detail"|not-shown-anywhere/);
  expect(readFileSync(join(directory, "all.zip")).includes("data/input.csv")).toBe(true);
  const shell = await run(find(TERMINAL, "uname -a").replaceAll("127.0.0.1:8091", host));
  expect(shell.exitCode, shell.stdout + shell.stderr).toBe(0);
  expect(shell.stdout.match(/"next_offset":/g)).toHaveLength(2);
  expect(shell.stdout).not.toContain('"detail"');
  await execa("git", ["init", "-q", join(state, "../workspace")]);
  const changed = await run(find(CALLING, '"diff":true').replaceAll("127.0.0.1:8091", host));
  expect([changed.exitCode, changed.stderr]).toEqual([0, ""]);
  expect(changed.stdout).toMatch(/^diff --git a\/sum\.sh b\/sum\.sh\nnew file mode/);
  const traced = await run(
    find(OBSERVABILITY, "traceparent")
      .replace(/^npm start.*\n/, "")
      .replaceAll("127.0.0.1:8091", host),
  );
  const { turn_id, session_id } = JSON.parse(traced.stdout);
  const ended = await waitFor("the line of its end", () =>
    log.find((line) => line.includes(turn_id) && line.includes('"turn ended"')),
  );
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  expect(JSON.parse(ended)).toMatchObject({ traceId, turnId: turn_id, sessionId: session_id, status: "completed" });
  expect(await stop()).toBe(0);
});

test.each([
  ["--help", 0],
  ["render --help", 0],
  ["serve extra", 2],
])("`npm start -- %s` makes no directory and copies no CLI", { timeout: 60_000 }, async (line, exitCode) => {
  const state = join(temporaryDirectory(onTestFinished), "state");
  const result = await run(`exec npm start --silent -- ${line}`, { TURND_STATE_DIR: state });
  expect(result.exitCode, result.stderr).toBe(exitCode);
  expect(exitCode === 0 ? result.stdout : result.stderr).toMatch(/turnd/);
  expect(existsSync(state)).toBe(false);
});

test.each([
  ["the provider of the first screen", "export CLI_B_MODEL", ["cli-b"]],
  ["the minimal configuration of both CLIs", "export CLI_A_NAME", ["cli-a", "cli-b"]],
])("%s, copied, runs turns", { timeout: 300_000 }, async (_, part, executors) => {
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  const block = find(README, part).replace(/^npm start$/m, "");
  const filled = block.replaceAll("https://…/v1", model.url).replaceAll("=…", "=scripted");
  expect(filled).not.toContain("…");
  const { host, stop } = await start(`${filled}\nexec npm start`, { NO_PROXY: "127.0.0.1" });
  const turnd = createClient(`http://${host}`);
  for (const executor of executors) {
    expect(await turnd.run({ executor, input: "Say hello." })).toMatchObject({ executor, status: "completed" });
  }
  expect(await stop()).toBe(0);
});

test(
  "the commands of docs/turnd.md that run turns do, by the configuration that it shows",
  { timeout: 300_000 },
  async () => {
    const turnd = readFileSync(join(REPOSITORY, "docs/turnd.md"), "utf8");
    const token = "a-token-of-a-test";
    const { host, stop } = await start("exec npm start -- --scripted", { TURND_TOKEN: token });
    const home = temporaryDirectory(onTestFinished);
    writeFileSync(join(home, "token"), `${token}\n`, { mode: 0o600 });
    const [, toml = ""] = /```toml\n([^]*?)```/.exec(turnd) ?? [];
    const configuration = toml
      .replace("https://sandbox.example", `http://${host}`)
      .replace("/home/me/.secrets/turnd-token", join(home, "token"));
    mkdirSync(join(home, ".config/turnd"), { recursive: true });
    writeFileSync(join(home, ".config/turnd/client.toml"), configuration, { mode: 0o600 });
    const repository = join(home, "repository");
    await execa("git", ["init", "-q", repository]);
    writeFileSync(join(repository, "notes.txt"), "a line\n");
    await execa("git", ["add", "-N", "notes.txt"], { cwd: repository });
    const path = `${join(REPOSITORY, "bin")}:${process.env["PATH"]}`;
    const { exitCode, stdout, stderr } = await run(find(turnd, "git diff |"), { HOME: home, PATH: path }, repository);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const turns = [...stdout.matchAll(/^turn \S+, (cli-[ab]) \([^)]*\)(, plan)?, session (\S+)$/gm)];
    expect(turns.map(([, executor, plan]) => [executor, plan])).toEqual([
      ["cli-b", undefined],
      ["cli-a", ", plan"],
      ["cli-b", undefined],
    ]);
    expect(stdout.match(/^completed in /gm)).toHaveLength(3);
    expect(await stop()).toBe(0);
  },
);

test("the first commands of docs/turnd.md print help and install a completion", async () => {
  const turnd = readFileSync(join(REPOSITORY, "docs/turnd.md"), "utf8");
  const home = temporaryDirectory(onTestFinished);
  const result = await run(blocks(turnd).slice(0, 2).join("\n"), { HOME: home });
  expect([result.exitCode, result.stderr]).toEqual([0, ""]);
  expect(result.stdout).toMatch(
    /^Usage: turnd \[options\] \[command\][^]*\nUsage: turnd run \[options\] <prompt\.\.\.>/,
  );
  const installed = join(home, ".local/share/bash-completion/completions/turnd");
  expect(readFileSync(installed, "utf8")).toMatch(/^complete .* turnd$/m);
});

test("the commands that replay do", async () => {
  const one = await run(find(README, "turnd replay --explain"));
  expect([one.exitCode, one.stdout.includes("rate_limited")]).toEqual([0, true]);
  const first = await run(find(REPLAYING, "replay --explain"));
  expect([first.exitCode, first.stdout]).toEqual([0, one.stdout]);
  const both = join(temporaryDirectory(onTestFinished), "text-answer");
  const packed = await run(find(REPLAYING, "turnd pack").replaceAll("/tmp/text-answer", both));
  expect([packed.exitCode, packed.stdout]).toEqual([0, `${both}.json.gz\n${both}`]);
  const many = await run(find(REPLAYING, "replay --summary"));
  expect(many.exitCode, many.stderr).toBe(0);
  expect(many.stdout).toMatch(/"type":"turn.ended"[^]*labelled: status \d+\/\d+ \(100.0 %\)/);
});

test("the README has five figures, each of docs/performance.md, and names every document", () => {
  const [, table = ""] = /## Figures\n[^]*?\| --- \| --- \|\n((?:\|.*\n)*)/.exec(README) ?? [];
  const rows = table.trim().split("\n");
  expect(rows).toHaveLength(5);
  const performance = readFileSync(join(REPOSITORY, "docs/performance.md"), "utf8");
  const figures = rows.flatMap((row) => row.match(/\d[\d.]*(?: (?:ms|MiB|events\/s))?/g) ?? []);
  const missing = figures.filter((figure) => !performance.includes(figure));
  expect(missing).toEqual([]);
  const documents = readdirSync(join(REPOSITORY, "docs")).filter((name) => name.endsWith(".md"));
  expect(documents.filter((name) => !README.includes(`](docs/${name})`))).toEqual([]);
});

test("every npm script that the README names is there", () => {
  const manifest: { scripts: Record<string, string> } = JSON.parse(
    readFileSync(join(REPOSITORY, "package.json"), "utf8"),
  );
  const named = [...README.matchAll(/`npm (?:run )?(start|test|demo|check|bench|soak|service)`/g)].map(
    (match) => match[1] ?? "",
  );
  expect(named.length).toBeGreaterThanOrEqual(6);
  expect(named.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
});
