import { dirname, join } from "node:path";
import { useCompileCache } from "./compile-cache.ts";
import { holdOptimiser } from "./optimiser.ts";

const args = process.argv.slice(2);
const [command = "serve"] = args;
// Other commands run with other limits of V8, for which the compiled code would be made anew each time.
const isServing = command === "serve" || command.startsWith("-");
const onWork = isServing ? holdOptimiser() : undefined;
const whyNoCompileCache = isServing ? useCompileCache(join(import.meta.dirname, "cache")) : undefined;
// Loaded only now: what is loaded before the cache is in use is compiled.
const { runTurnd } = await import("./turnd.ts");

process.exitCode = await runTurnd({
  args,
  env: process.env,
  exit: (code) => process.exit(code),
  // Two folders up from here, as from the file that scripts/bundle-turnd.ts makes of this one.
  sandboxDirectory: join(dirname(dirname(import.meta.dirname)), "sandbox"),
  loadExecutors: async () => (await import("./executors/registry.ts")).EXECUTORS,
  ...(onWork === undefined ? {} : { onWork }),
  ...(whyNoCompileCache === undefined ? {} : { whyNoCompileCache }),
});
