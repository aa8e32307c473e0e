// What `npm start` runs: turnd as scripts/setup.mjs has built it, or its source where that is newer. Plain JavaScript: what
// strips types takes longer to load than all of this.
import { existsSync } from "node:fs";
import { isStale, TURND } from "./bundles.mjs";

const built = new URL("../dist/daemon/start.mjs", import.meta.url);
await import(existsSync(built) && !isStale(TURND) ? built.href : "./start/main.ts");
