// What `npm start` runs: turnd as scripts/setup.mjs has built it, or its source where that is newer. Plain JavaScript: what
// strips types takes longer to load than all of this.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isStale, TURND } from "./bundles.mjs";
import { installMissing } from "./install-missing.mjs";
import { describeTooOld, isNewEnough } from "./node-version.mjs";

const NODE = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));

// Not exit(): what is written to a pipe may still be under way.
function refuse(text, code) {
  console.error(text);
  process.exitCode = code;
}

const isNpm = process.env["npm_lifecycle_event"] === "start";
if (isNpm && process.env["npm_config_scripted"] !== undefined)
  refuse("turnd: npm has taken --scripted for itself: npm start -- --scripted", 2);
else {
  // Not before it, as npm would with two more processes: a fifth of the time of a start.
  const found = isNpm ? await installMissing({ isForTests: false }) : undefined;
  // Another Node may have come with the packages, in the place of this one.
  if (found?.hasInstalled && existsSync(NODE)) process.execve?.(NODE, ["node", ...process.argv.slice(1)], process.env);
  const built = new URL("../dist/turnd/start.mjs", import.meta.url);
  if (!isNewEnough())
    refuse(describeTooOld("start it with bin/turnd or npm start, which find the repository's own"), 1);
  else await import(existsSync(built) && (found?.wasBuilt || !isStale(TURND)) ? built.href : "./start/main.ts");
}
