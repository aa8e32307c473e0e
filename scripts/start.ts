import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { runCommandLine, type ExitCode } from "../src/daemon/commands/command-line.ts";
import { EXECUTORS } from "../src/daemon/executors/registry.ts";
import { fillEnvironment } from "./fill-environment.ts";

// What `npm start` runs: turnd on a machine that may be no sandbox image. Variables that are set win over everything.
// Help and wrong arguments end here: they make no directory and copy no CLI.
let isCommand = false;
const accept = async (): Promise<ExitCode> => {
  isCommand = true;
  return 0;
};
const commands = { serve: accept, render: accept, doctor: accept, replay: accept, record: accept, probe: accept };
const exitCode = await runCommandLine(
  process.argv.slice(2),
  commands,
  EXECUTORS.map(({ id }) => id),
);
if (!isCommand) process.exit(exitCode);

const base =
  process.getuid?.() === 0
    ? "/var/lib/turnd"
    : join(process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local/state"), "turnd");

for (const [name, path] of [
  ["TURND_HOME", "/home/sandbox"],
  ["TURND_WORKSPACE", "/workspace"],
] as const) {
  if (process.env[name] === undefined && process.getuid?.() === 0 && (await isDirectory(path)))
    process.env[name] = path;
}

const { env, notes } = await fillEnvironment(process.env, { state: base, users: `${base}-users` });
Object.assign(process.env, env);
for (const note of notes) console.error(`turnd: ${note}`);
console.error(`turnd: state in ${process.env["TURND_STATE_DIR"]}, workspace ${process.env["TURND_WORKSPACE"]}`);

// In this process, so that SIGTERM arrives.
await import("../src/daemon/main.ts");

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
