import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { cliB } from "../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { CliFeatures } from "../../../src/turnd/daemon/executors/contract/cli-features.ts";
import { asUser } from "../../../src/turnd/daemon/process/run-as.ts";
import type { Exit } from "../../../src/turnd/protocol/index.ts";
import { awaitExit, endingWithParent } from "../await-exit.ts";
import type { CliBCase, Place } from "./case.ts";
import { writeLabel } from "./label.ts";
import type { Reply } from "./replies.ts";

/** The binary that is recorded. */
export interface Recorded {
  readonly version: string;
  readonly binary: string;
}

const USER = { uid: 1000, gid: 1000, isSelf: process.getuid?.() !== 0 };
const LIMIT_MS = 60_000;
const KEY = "FAKE-LAB-KEY-A";

/** Runs one case in a new home and leaves its recording, with paths and ports made the same every time. */
export async function recordCase(cli: Recorded, entry: CliBCase, directory: string): Promise<void> {
  // Not below /tmp: the CLI warns of a home there.
  const root = mkdtempSync("/var/tmp/turnd-record-");
  const model = await startProvider();
  const home = join(root, "home");
  const place: Place = {
    home,
    codexHome: join(home, "codex"),
    workspace: join(root, "work"),
    modelUrl: `${model.origin}/v1`,
    binary: cli.binary,
    shell: (command) => void spawnSync("/bin/sh", ["-c", command], { cwd: root, stdio: "inherit" }),
  };
  try {
    for (const path of [root, home, place.codexHome, join(home, "tmp"), place.workspace]) makeFor(path);
    entry.prepareHome?.(place);
    let thread: string | undefined;
    for (const [index, replies] of (entry.earlier ?? []).entries()) {
      entry.beforeTurn?.[index]?.(place);
      model.play(replies);
      const done = join(root, `earlier-${index}`);
      makeFor(done);
      await run(cli, { ...entry, ...PLAIN, stop: entry.earlierStop }, { place, directory: done, resume: thread });
      thread = /"thread_id":"([^"]+)"/.exec(readFileSync(join(done, "stdout.jsonl"), "utf8"))?.[1] ?? thread;
    }
    model.play(entry.replies);
    mkdirSync(directory, { recursive: true });
    const resume = entry.resume === "earlier" ? thread : entry.resume;
    const { args, exit } = await run(cli, entry, { place, directory, resume });
    for (const name of ["stdout.jsonl", "stderr.log"]) {
      const path = join(directory, name);
      writeFileSync(path, normalise(readFileSync(path), root, model.origin));
    }
    const requested = entry.isFork === true ? null : (resume ?? null);
    const turn = {
      executor: "cli-b",
      cli_version: cli.version,
      args: args.map((arg) => String(normalise(Buffer.from(arg), root, model.origin))),
      mode: entry.mode ?? "execute",
      requested_session: requested,
      ended_by: entry.stop?.by ?? null,
      note: entry.label.why,
    };
    write(join(directory, "turn.json"), turn);
    write(join(directory, "exit.json"), exit);
    writeLabel(directory, entry.label, requested);
  } finally {
    await model.close();
    spawnSync("/bin/sh", ["-c", `umount ${place.codexHome} 2>/dev/null; chmod -R u+rwX ${root}`]);
    rmSync(root, { recursive: true, force: true });
  }
}

/** A turn before the recorded one is an ordinary one. */
const PLAIN = {
  prepare: undefined,
  within: undefined,
  args: undefined,
  hasRival: undefined,
  prompt: "hello\n",
} as const;

interface RunOptions {
  readonly place: Place;
  readonly directory: string;
  readonly resume: string | undefined;
}

async function run(
  cli: Recorded,
  entry: { [Key in keyof CliBCase]: CliBCase[Key] | undefined },
  { place, directory, resume }: RunOptions,
): Promise<{ args: readonly string[]; exit: Exit }> {
  const features = askFeatures(cli, place);
  const { args: usual, env } = prepare(entry, place, { resume, features });
  const args = entry.args?.(usual, place) ?? usual;
  entry.prepare?.(place);
  writeFileSync(join(directory, "prompt"), entry.prompt ?? "hello\n");
  const files = [
    openSync(join(directory, "prompt"), "r"),
    openSync(join(directory, "stdout.jsonl"), "w"),
    openSync(join(directory, "stderr.log"), "w"),
  ] as const;
  const [program, ...words] = endingWithParent(asUser(USER, [...(entry.within ?? []), cli.binary, ...args]));
  const start = (stdio: readonly (number | "ignore")[]) =>
    spawn(program, words, { cwd: place.workspace, env, stdio: [...stdio] });
  // The rival has the session first.
  const rival =
    entry.hasRival === true ? start([openSync(join(directory, "prompt"), "r"), "ignore", "ignore"]) : undefined;
  if (rival !== undefined) await new Promise((resolve) => setTimeout(resolve, 1_500));
  const child = start(files);
  const signals = [...(entry.stop?.signals ?? [])];
  const look = setInterval(() => {
    const said = readFileSync(join(directory, "stdout.jsonl"), "utf8");
    if (entry.stop?.when.test(said) === true && signals.length > 0) child.kill(signals.shift());
  }, 250);
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const exit = await awaitExit(child).finally(() => {
    clearInterval(look);
    clearTimeout(limit);
    rival?.kill("SIGKILL");
    files.forEach(closeSync);
  });
  rmSync(join(directory, "prompt"));
  return { args, exit };
}

/** Everything that turnd would have written and given, by the adapter's own code. */
function prepare(
  entry: { [Key in keyof CliBCase]: CliBCase[Key] | undefined },
  { home, workspace, modelUrl }: Place,
  { resume, features }: { readonly resume: string | undefined; readonly features: CliFeatures | undefined },
) {
  const { toml, ...variables } = entry.variables ?? {};
  const own = toml === undefined ? { CLI_B_MODEL: "m1", CLI_B_BASE_URL: "{url}", CLI_B_API_KEY: KEY } : {};
  const given = {
    CLI_B_SANDBOX_MODE: "danger-full-access",
    ...own,
    ...variables,
    ...(toml && { CLI_B_CONFIG_TOML: toml }),
  };
  const result = cliB.configure({
    env: Object.fromEntries(
      Object.entries({ LAB_KEY: KEY, ...given }).map(([name, value]) => [name, value.replaceAll("{url}", modelUrl)]),
    ),
    cliName: "codex",
  });
  if (!result.ok) throw new Error(result.errors.join("; "));
  const { configuration } = result;
  const mode = entry.mode ?? "execute";
  const turn = { configuration, permissions: {}, mode, ...(features && { cliFeatures: features }) };
  const plan = cliB.planHome({ home, cliName: "codex", ...turn });
  for (const { path, content } of plan.files) writeFor(join(home, path), content);
  const schema = join(home, "schema.json");
  if (entry.outputSchema !== undefined) writeFor(schema, entry.outputSchema);
  const args = cliB.buildArgs({
    ...turn,
    workspace,
    images: [],
    ...(resume === undefined ? {} : { resume }),
    ...(entry.outputSchema === undefined ? {} : { outputSchema: schema }),
  });
  const env: Record<string, string> = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    TMPDIR: join(home, "tmp"),
    HTTP_PROXY: "http://127.0.0.1:9",
    HTTPS_PROXY: "http://127.0.0.1:9",
    NO_PROXY: "127.0.0.1,.invalid",
    ...plan.env,
    ...configuration.env,
    ...entry.env,
  };
  return { args, env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== "")) };
}

function askFeatures({ binary }: Recorded, { home }: Place): CliFeatures | undefined {
  const question = cliB.featureQuestion;
  const { stdout } = spawnSync(binary, question?.args ?? [], { env: { CODEX_HOME: mkdtempSync(join(home, "ask-")) } });
  return question?.read(String(stdout));
}

async function startProvider() {
  let left: Reply[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const reply = left.length > 1 ? left.shift() : left[0];
      if (reply !== undefined) serve(reply, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return {
    origin: `http://127.0.0.1:${address.port}`,
    play: (replies: readonly Reply[]) => void (left = [...replies]),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function serve(reply: Reply, response: ServerResponse): void {
  switch (reply.do) {
    case "answer":
      response.writeHead(reply.status, reply.headers).end(reply.body);
      return;
    case "stream": {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const { frames, end } = reply;
      response.write(frames.join(""), () => {
        if (end === "close") response.end();
        // What was sent must have arrived before the connection goes.
        if (end === "reset") setTimeout(() => response.socket?.resetAndDestroy(), 200);
      });
      return;
    }
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "hang":
  }
}

/** Bytes stay bytes: what is not UTF-8 goes through as it is. */
function normalise(bytes: Buffer, root: string, origin: string): Buffer {
  const text = bytes
    .toString("latin1")
    .replaceAll(join(root, "home"), "/home/sandbox")
    .replaceAll(join(root, "work"), "/workspace")
    .replaceAll(root, "/scratch")
    .replaceAll(new URL(origin).host, "127.0.0.1:8000");
  return Buffer.from(text, "latin1");
}

function makeFor(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o755 });
  if (!USER.isSelf) chownSync(path, USER.uid, USER.gid);
}

function writeFor(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600 });
  if (!USER.isSelf) chownSync(path, USER.uid, USER.gid);
}

function write(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
