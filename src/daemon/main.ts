import { dirname, join } from "node:path";
import { runTurnd } from "./turnd.ts";

process.exitCode = await runTurnd({
  args: process.argv.slice(2),
  env: process.env,
  exit: (code) => process.exit(code),
  // Two folders up from here, as from the one file that scripts/bundle.ts makes of all this.
  sandboxDirectory: join(dirname(dirname(import.meta.dirname)), "sandbox"),
  loadExecutors: async () => (await import("./executors/registry.ts")).EXECUTORS,
});
