import { execFileSync, spawn } from "node:child_process";
import {
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
import { tmpdir } from "node:os";
import { join } from "node:path";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { DEFAULT_SCENARIO } from "../../src/scripted-model/scenarios.ts";
import { startScriptedModel, type ScriptedModel } from "../../src/scripted-model/server.ts";
import { awaitExit, endingWithParent } from "./await-exit.ts";
import { leaveRecording, type Played } from "./leave-recording.ts";
import { childOf, marker, type Places, type Scene, type Stop } from "./scene.ts";
import { toEnv, writeConfig, type Stage } from "./scene-home.ts";

/** Nobody's: the CLI is not to be root, whom no mode of a file stops. */
const CLI_UID = 1000;
const LIMIT_MS = 240_000;
/** What a killed run prints late. */
const SETTLE_MS = 1_500;

/** Plays a scene with a real CLI and leaves a labelled recording, its paths those of a sandbox. */
export async function recordScene(stage: Stage, scene: Scene, directory: string): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), "scene-"));
  const places = { home: join(base, "home"), workspace: join(base, "workspace"), configFile: join(base, CONFIG_FILE) };
  const done: Scenario = () => say("Done.");
  const model = await startScriptedModel({
    scenarios: {
      [scene.name]: scene.script ?? done,
      [childOf(scene.name)]: scene.child ?? done,
      // A request for a summary has no tools, and what follows one has no marker.
      [BEFORE]: (conversation, cue) =>
        conversation.tools.length === 0 && scene.script !== undefined
          ? scene.script(conversation, cue)
          : say("Before."),
      [DEFAULT_SCENARIO]: scene.script ?? done,
    },
  });
  try {
    for (const path of [places.home, places.workspace, join(base, "tmp")]) mkdirSync(path, { recursive: true });
    const before = scene.continues === undefined ? undefined : await playBefore(stage, scene, { base, places, model });
    const session = scene.session ?? before;
    writeConfig(stage, scene, places, model.url);
    await scene.prepare?.(places);
    chownAll(base);
    const played = await play(stage, scene, { base, places, model, session });
    leaveRecording({ cli: stage.cli, scene, base, played, session }, directory);
  } finally {
    scene.cleanUp?.(places);
    await model.close();
    rmSync(base, { recursive: true, force: true });
  }
}

const CONFIG_FILE = "home/config/opencode/config.json";
const BEFORE = "before";
/** Starts a command in a directory that is gone. */
const REMOVED = ["/bin/sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh"];

interface Set {
  readonly base: string;
  readonly places: Places;
  readonly model: ScriptedModel;
  readonly session?: string | undefined;
}

/** The turn before, played well, or killed while a command runs. @returns its session */
async function playBefore(stage: Stage, scene: Scene, set: Set): Promise<string> {
  const before: Scene = {
    name: BEFORE,
    prompt: marker(BEFORE),
    ...(scene.continues === "killed" ? { stop: { shows: /"text"/g, times: 1, signal: "SIGKILL", endedBy: null } } : {}),
    label: scene.label,
  };
  writeConfig(stage, before, set.places, set.model.url);
  chownAll(set.base);
  const { stdout } = await play(stage, before, set);
  const session = /"sessionID":"(ses_\w+)"/.exec(stdout)?.[1];
  if (session === undefined) throw new Error(`${scene.name}: the turn before has no session`);
  return session;
}

async function play(stage: Stage, scene: Scene, set: Set): Promise<Played> {
  const { base, places, model, session } = set;
  const files = { stdin: join(base, "prompt.txt"), stdout: join(base, "stdout"), stderr: join(base, "stderr") };
  writeFileSync(files.stdin, scene.prompt ?? marker(scene.name));
  const args = [
    "run",
    "--format=json",
    ...(scene.logs === "none" ? [] : ["--print-logs", `--log-level=${scene.logs ?? "INFO"}`]),
    "--thinking",
    "--title=turn",
    ...(session === undefined ? [] : [`--session=${session}`]),
    ...(scene.args ?? []),
  ];
  const late = scene.isStdoutReadLate === true ? openPipe(join(base, "pipe")) : undefined;
  const [stdin, stdout, stderr] = [
    openSync(files.stdin, "r"),
    late === undefined ? openSync(files.stdout, "w") : openSync(join(base, "pipe"), "w"),
    openSync(files.stderr, "w"),
  ];
  const isRoot = process.getuid?.() === 0;
  const command = [...(scene.isWorkspaceRemoved === true ? REMOVED : []), stage.cli.binary, ...args];
  const [program, ...words] = endingWithParent(command);
  const child = spawn(program, words, {
    cwd: places.workspace,
    env: { ...toEnv(base, places, stage), ...fillIn(scene.env ?? {}, stage.cli.binary) },
    stdio: [scene.isStdinOpen === true ? "pipe" : stdin, scene.isStdoutClosed === true ? "pipe" : stdout, stderr],
    ...(isRoot ? { uid: CLI_UID, gid: CLI_UID } : {}),
  });
  child.stdout?.destroy();
  const startedAt = Date.now();
  const before = model.requests.length;
  let isStopped = false;
  const look = setInterval(() => {
    if (isStopped || scene.stop === undefined) return;
    const isDue = isTimeFor(scene.stop, {
      printed: (late === undefined ? read(files.stdout) : "") + read(files.stderr),
      workspace: places.workspace,
      asked: model.requests.length - before,
      runsForMs: Date.now() - startedAt,
    });
    if (!isDue) return;
    isStopped = true;
    setTimeout(() => child.kill(scene.stop?.signal), scene.stop.shows?.source === "." ? 0 : SETTLE_MS);
  }, 50);
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const exit = await awaitExit(child).finally(() => {
    clearInterval(look);
    clearTimeout(limit);
    [stdin, stdout, stderr].forEach(closeSync);
  });
  if (late !== undefined) writeFileSync(files.stdout, readAll(late));
  return { args, exit, isStopped, stdout: read(files.stdout), stderr: read(files.stderr) };
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

function fillIn(env: Readonly<Record<string, string>>, binary: string): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace("{binary}", binary)]));
}

interface Seen {
  readonly printed: string;
  readonly workspace: string;
  readonly asked: number;
  readonly runsForMs: number;
}

function isTimeFor(stop: Stop, seen: Seen): boolean {
  if (stop.afterMs !== undefined) return seen.runsForMs >= stop.afterMs;
  if (stop.file !== undefined) return existsSync(join(seen.workspace, stop.file));
  if (stop.asked !== undefined) return seen.asked >= stop.asked;
  return stop.shows !== undefined && (seen.printed.match(stop.shows)?.length ?? 0) >= (stop.times ?? 1);
}

function chownAll(path: string): void {
  if (process.getuid?.() === 0) execFileSync("chown", ["-R", `${CLI_UID}:${CLI_UID}`, path]);
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}
