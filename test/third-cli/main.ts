import { dirname, join } from "node:path";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { runTurnd } from "../../src/turnd/turnd.ts";
import { toy } from "./adapter.ts";

// turnd with a third CLI: as src/turnd/program.ts, with one more entry in its registry.
process.exitCode = await runTurnd({
  args: process.argv.slice(2),
  env: process.env,
  exit: (code) => process.exit(code),
  sandboxDirectory: join(dirname(dirname(import.meta.dirname)), "sandbox"),
  loadExecutors: () => Promise.resolve([...EXECUTORS, toy]),
});
