import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { runCommandLine } from "../src/daemon/commands/command-line.ts";
import { EXECUTORS } from "../src/daemon/executors/registry.ts";
import { fillEnvironment } from "./fill-environment.ts";
import { findRunningTurnd } from "./running-turnd.ts";

// What `npm start` runs: turnd on a machine that may be no sandbox image. `turnd doctor` and `turnd probe` of the repository
// come here too: beside a turnd that runs they use its settings. Variables that are set win over everything.
// Help and wrong arguments end here: they make no directory and copy no CLI.
let isCommand = false;
const host = {
  args: process.argv.slice(2),
  env: process.env,
  exit: (code: number) => process.exit(code),
  sandboxDirectory: join(import.meta.dirname, "../sandbox"),
  loadExecutors: async () => EXECUTORS,
};
const exitCode = await runCommandLine(host, async () => {
  isCommand = true;
  return 0;
});
if (!isCommand) process.exit(exitCode);

const base =
  process.getuid?.() === 0
    ? "/var/lib/turnd"
    : join(process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local/state"), "turnd");

if (["doctor", "probe"].includes(host.args[0] ?? "")) await takeSettingsOfRunning();
else await provideWhatIsMissing();

// In this process, so that SIGTERM arrives.
await import("../src/daemon/main.ts");

async function provideWhatIsMissing(): Promise<void> {
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
}

/** Where none runs, what is set here is all there is. */
async function takeSettingsOfRunning(): Promise<void> {
  const running = await findRunningTurnd(process.env["TURND_STATE_DIR"] ?? base);
  if (running === undefined) return;
  if (running.env === undefined) {
    console.error(`turnd: this user may not read the settings of the turnd that runs, process ${running.pid}`);
    return;
  }
  console.error(`turnd: what is not set here is as for the turnd that runs, process ${running.pid}`);
  Object.assign(process.env, { ...running.env, ...process.env });
  await provideWhatIsMissing();
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
