// What `npm start` runs: turnd as scripts/setup.mjs has built it, or its source where that is newer. Plain JavaScript: what
// strips types takes longer to load than all of this.
import { existsSync } from "node:fs";
import { isStale, TURND } from "./bundles.mjs";
import { installMissing } from "./install-missing.mjs";
import { describeTooOld, isNewEnough } from "./node-version.mjs";

// Not exit(): what is written to a pipe may still be under way.
function refuse(text, code) {
  console.error(text);
  process.exitCode = code;
}

if (!isNewEnough()) refuse(describeTooOld("start it with bin/turnd or npm start, which find the repository's own"), 1);
else if (process.env["npm_lifecycle_event"] === "start" && process.env["npm_config_scripted"] !== undefined)
  refuse("turnd: npm has taken --scripted for itself: npm start -- --scripted", 2);
else {
  // npm starts two processes for what runs before a command: a fifth of the time that a start takes.
  const isFresh = process.env["npm_lifecycle_event"] === "start" && installMissing({ isForTests: false });
  const built = new URL("../dist/daemon/start.mjs", import.meta.url);
  await import(existsSync(built) && (isFresh || !isStale(TURND)) ? built.href : "./start/main.ts");
}
