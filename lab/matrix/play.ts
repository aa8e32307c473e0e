import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { defined } from "../../src/kit/defined.ts";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import type { Exit } from "../../src/turnd/protocol/index.ts";
import { awaitExit, endingWithParent } from "./await-exit.ts";
import { CLI_A } from "./cli-a.ts";
import { CLI_B } from "./cli-b.ts";
import type { Cli, Driver, Stage } from "./cli.ts";
import { startProvider, type Provider } from "./provider.ts";
import { expectedOutput, type Moment, type Scene } from "./scene.ts";

/** As whom a CLI runs: not root, whom no mode of a file stops. */
const USER = { uid: 1000, gid: 1000, isSelf: process.getuid?.() !== 0 };
const LIMIT_MS = 240_000;
const LOOK_MS = 50;
const BETWEEN_SIGNALS_MS = 250;
const SETTLE_MS = 1_500;
const DRIVERS = { "cli-a": CLI_A, "cli-b": CLI_B } as const;

/** One run of the CLI. */
interface Play {
  readonly scene: Scene;
  readonly stage: Stage;
  readonly driver: Driver;
  readonly provider: Provider;
  readonly resume: string | undefined;
}

/** What it left behind. */
interface Played {
  readonly args: readonly string[];
  readonly exit: Exit;
  readonly isStopped: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Plays a scene with a real CLI in a new home and leaves a labelled recording, its paths those of a sandbox. */
export async function playScene(cli: Cli, given: Scene, directory: string): Promise<void> {
  // Not below /tmp: CLI B warns of a home there.
  const base = mkdtempSync("/var/tmp/turnd-scene-");
  const provider = await startProvider(cli.executor);
  const driver = DRIVERS[cli.executor];
  const home = join(base, "home");
  const stage: Stage = {
    cli,
    base,
    home,
    store: join(home, driver.paths.store),
    config: join(home, driver.paths.config),
    workspace: join(base, "workspace"),
    modelUrl: provider.url,
  };
  const baseUrl = given.baseUrl
    ?.replace("{url}", provider.url)
    .replace("{tls}", provider.tls)
    .replace("{host}", new URL(provider.url).host);
  const scene: Scene = { ...given, ...defined({ baseUrl }) };
  try {
    for (const path of [base, home, stage.store, join(base, "tmp"), stage.workspace]) makeFor(path);
    if (scene.disk !== undefined) mount(stage.store, scene.disk);
    const before = await playEarlier({ scene, stage, driver, provider, resume: undefined });
    const resume = scene.resume === "earlier" ? before : scene.resume;
    provider.play(scene.replies, scene.child);
    leaveRecording(
      { scene, stage, driver, provider, resume },
      await play({ scene, stage, driver, provider, resume }),
      directory,
    );
  } finally {
    await provider.close();
    // Whatever a script has mounted, and closed.
    for (const path of [stage.store, stage.workspace]) spawnSync("umount", ["-l", path], { stdio: "ignore" });
    spawnSync("chmod", ["-R", "u+rwX", base], { stdio: "ignore" });
    rmSync(base, { recursive: true, force: true });
  }
}

/** @returns the session of the turns before */
async function playEarlier(plan: Play): Promise<string | undefined> {
  const { earlierStop, earlier = [], beforeEarlier, variables, toml, env } = plan.scene;
  let session: string | undefined;
  for (const [index, replies] of earlier.entries()) {
    runScript(plan.stage, beforeEarlier?.[index], true);
    plan.provider.play(replies);
    const scene: Scene = {
      name: `before ${plan.scene.name}`,
      why: "an ordinary turn before it",
      replies,
      ...defined({ variables, toml, env, stop: earlierStop }),
    };
    const { stdout } = await play({ ...plan, scene, resume: session });
    session = plan.driver.readPrinted(stdout.toString()).session ?? session;
  }
  if (earlier.length > 0 && session === undefined)
    throw new Error(`${plan.scene.name}: the turn before has no session`);
  return session;
}

async function play({ scene, stage, driver, provider, resume }: Play): Promise<Played> {
  const { base, workspace, cli } = stage;
  const prepared = driver.prepare(scene, stage, resume);
  const args = scene.args?.(prepared.args, stage) ?? prepared.args;
  if (!USER.isSelf) execFileSync("chown", ["-R", `${USER.uid}:${USER.gid}`, base]);
  runScript(stage, scene.prepare, false);
  runScript(stage, scene.prepareAsRoot, true);
  const files = { prompt: join(base, "prompt.txt"), stdout: join(base, "stdout"), stderr: join(base, "stderr") };
  writeFileSync(files.prompt, scene.prompt ?? "hello\n");
  const late = scene.stdout === "late" ? openPipe(join(base, "pipe")) : undefined;
  const descriptors = [
    openSync(files.prompt, "r"),
    openSync(late === undefined ? files.stdout : join(base, "pipe"), "w"),
    openSync(files.stderr, "w"),
  ];
  const [stdin, stdout, stderr] = descriptors;
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...prepared.env, ...scene.env }))
    if (value !== "") env[name] = value.replace("{binary}", cli.binary);
  const [program, ...words] = endingWithParent(asUser(USER, [...(scene.within ?? []), cli.binary, ...args]));
  const start = (stdio: readonly (number | "ignore" | "pipe" | undefined)[]) =>
    spawn(program, words, { cwd: workspace, env, stdio: [...stdio] });
  // The rival has the session first.
  const rival = scene.hasRival === true ? start([openSync(files.prompt, "r"), "ignore", "ignore"]) : undefined;
  if (rival !== undefined) await new Promise((resolve) => setTimeout(resolve, 1_500));
  const child = start([scene.stdin === "open" ? "pipe" : stdin, scene.stdout === "closed" ? "pipe" : stdout, stderr]);
  child.stdout?.destroy();
  const startedAt = Date.now();
  const signals = [...(scene.stop?.signals ?? [])];
  // A command has made its file before the CLI has printed that it began.
  const settleMs = [scene.stop?.when ?? []].flat().some(({ file }) => file !== undefined) ? SETTLE_MS : driver.settleMs;
  let dueAt: number | undefined;
  const look = setInterval(() => {
    dueAt ??= isTimeFor(scene, () => ({
      printed: (late === undefined ? read(files.stdout) : "") + read(files.stderr),
      asked: provider.asked(),
      runsForMs: Date.now() - startedAt,
      workspace,
    }))
      ? Date.now() + settleMs
      : undefined;
    if (dueAt === undefined || Date.now() < dueAt) return;
    dueAt += BETWEEN_SIGNALS_MS;
    child.kill(signals.shift() ?? 0);
  }, LOOK_MS);
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const exit = await awaitExit(child).finally(() => {
    clearInterval(look);
    clearTimeout(limit);
    rival?.kill("SIGKILL");
    descriptors.forEach(closeSync);
  });
  if (late !== undefined) writeFileSync(files.stdout, readAll(late));
  const isStopped = scene.stop !== undefined && dueAt !== undefined;
  return { args, exit, isStopped, stdout: readFileSync(files.stdout), stderr: readFileSync(files.stderr) };
}

interface Seen {
  readonly printed: string;
  readonly asked: number;
  readonly runsForMs: number;
  readonly workspace: string;
}

function isTimeFor({ stop }: Scene, look: () => Seen): boolean {
  if (stop === undefined) return false;
  const seen = look();
  return [stop.when].flat().some(({ shows, times = 1, file, asked, afterMs }: Moment) => {
    if (afterMs !== undefined) return seen.runsForMs >= afterMs;
    if (file !== undefined) return existsSync(join(seen.workspace, file));
    if (asked !== undefined) return seen.asked >= asked;
    return shows !== undefined && (seen.printed.match(new RegExp(shows, "g"))?.length ?? 0) >= times;
  });
}

/** Paths of this machine become those of a sandbox. Bytes stay bytes: what is not UTF-8 goes through as it is. */
function leaveRecording({ scene, stage, driver, resume }: Play, played: Played, directory: string): void {
  const { base, modelUrl, cli } = stage;
  const normalise = (bytes: Buffer | string): Buffer => {
    const words = Buffer.from(bytes)
      .toString("latin1")
      .replaceAll(`${base}/home`, "/home/sandbox")
      .replaceAll(`${base}/workspace`, "/workspace")
      .replaceAll(`${base}/tmp`, "/tmp")
      .replaceAll(base, "/scratch")
      // Without its first slash, as CLI A writes the place of a project.
      .replaceAll(`${base.slice(1)}/workspace`, "workspace")
      .replaceAll(`${base.slice(1)}/home`, "home/sandbox")
      // Which registry a machine uses is its own matter.
      .replaceAll(/https:\/\/registry\.[\w.-]+/g, "https://registry.invalid")
      .replaceAll(new URL(modelUrl).host, "127.0.0.1:8000");
    return Buffer.from(words, "latin1");
  };
  mkdirSync(directory, { recursive: true });
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(directory, name), Buffer.isBuffer(value) ? value : `${JSON.stringify(value, null, 2)}\n`);
  const stdout = normalise(played.stdout);
  write("stdout.jsonl", stdout);
  write("stderr.log", normalise(played.stderr));
  write("exit.json", played.exit);
  const requested = scene.isFork === true ? null : (resume ?? null);
  const args = played.args.map((arg) => normalise(arg).toString("latin1"));
  const mode = scene.mode ?? (args.includes("--agent=plan") ? "plan" : "execute");
  write("turn.json", {
    executor: cli.executor,
    cli_version: cli.version,
    args,
    mode,
    requested_session: requested,
    ended_by: played.isStopped ? (scene.stop?.by ?? null) : null,
    note: scene.why,
  });
  const { session, text, tools, usage } = driver.readPrinted(stdout.toString());
  const expected = expectedOutput(scene);
  if (text !== expected.text && session === (requested ?? session))
    console.log(`? ${scene.name}: text is ${JSON.stringify(text)}`);
  if (tools !== expected.tools && session === (requested ?? session)) console.log(`? ${scene.name}: ${tools} tools`);
  if (scene.status === undefined) return;
  write("expected.json", {
    status: scene.status,
    code: scene.code ?? null,
    also: scene.also ?? [],
    native_session_id: session,
    resumed: requested === null ? null : (scene.resumed ?? session === requested),
    final_text: expected.text,
    tool_calls: expected.tools,
    usage,
    unknown_records: scene.unknownRecords ?? 0,
    why: scene.why,
  });
}

function runScript({ base, home, workspace, store, config }: Stage, script: string | undefined, isRoot: boolean): void {
  if (script === undefined) return;
  const shell = ["/bin/sh", "-ec", script];
  const [program = "", ...words] = isRoot ? shell : asUser(USER, shell);
  const env = { PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", home, workspace, store, config };
  execFileSync(program, words, { cwd: base, env, stdio: ["ignore", "inherit", "inherit"] });
}

function mount(path: string, options: string): void {
  const owned = `mode=755,uid=${USER.uid},gid=${USER.gid},${options}`;
  execFileSync("mount", ["-t", "tmpfs", "-o", owned, "tmpfs", path]);
}

/** A pipe that holds what a pipe of the kernel holds. @returns its end to read */
function openPipe(path: string): number {
  execFileSync("mkfifo", [path]);
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/** What is left in a pipe that nobody writes to any more. */
function readAll(pipe: number): Buffer {
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = Buffer.alloc(65_536);
    const length = readSync(pipe, piece);
    if (length === 0) break;
    pieces.push(piece.subarray(0, length));
  }
  closeSync(pipe);
  return Buffer.concat(pieces);
}

function makeFor(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o755 });
  if (!USER.isSelf) chownSync(path, USER.uid, USER.gid);
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}
