import { dirname, join } from "node:path";
import { useCompileCache } from "../../src/daemon/compile-cache.ts";
import { holdOptimiser } from "../../src/daemon/optimiser.ts";

// Two folders up from here, as from the file that scripts/bundle-turnd.ts makes of this one. The cache lies beside that file.
const root = dirname(dirname(import.meta.dirname));
const [command = "serve"] = process.argv.slice(2);
// As src/daemon/main.ts decides it, whose code this is too.
if (command === "serve" || command.startsWith("-")) {
  // src/daemon/main.ts does it again, and lets go.
  holdOptimiser();
  useCompileCache(join(import.meta.dirname, "cache"));
}
const { start } = await import("./start.ts");

await start(root);
