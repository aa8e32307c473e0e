/**
 * Runs inside the CLI, before its own code, and keeps a repository's code out of it.
 *
 * 1.18.33 looks for `.opencode` and `opencode.json(c)` in the workspace and above it whatever its switches say, and imports the
 * plugins that it finds there: code in the process, which no permission limits. So
 *
 * - these names do not exist for that search, which asks by `fs.access` alone; tools, which do not, use such files as any other;
 * - no module, native library or worker is loaded from a file, whoever asks for it: the CLI's own code lies in its binary, below
 *   `/$bunfs/`. Where the operator's configuration names plugins, files outside of the workspace are loaded.
 *
 * Every start tries both, and ends the CLI where they do not hold, or where it could not read its configuration, which later
 * versions pass over in silence. Bun asks no plugin about a file whose name has no dot: only the first keeps such a one out. A
 * throw in `onResolve` would crash Bun 1.3.14.
 */
export const GUARD = String.raw`
const { PRELOAD, WANTS_PROOF, PROOF, loadsPlugins, configFiles } = SETTINGS;
const bun = require("node:process");
const fs = require("node:fs");
const path = require("node:path");
const workers = require("node:worker_threads");
const wantsProof = bun.env[WANTS_PROOF] !== undefined;
// What a tool starts must not inherit them.
delete bun.env[PRELOAD];
delete bun.env[WANTS_PROOF];

const REFUSED = "turnd: not loaded, this CLI runs no code of a workspace: ";
const realpath = (file) => { try { return fs.realpathSync(file); } catch { return path.resolve(file); } };
const workspace = realpath(bun.cwd()).replace(/\/$/, "") + "/";
const isInWorkspace = (file) => [path.resolve(file), realpath(file)].some((one) => (one + "/").startsWith(workspace));
function check(given) {
  const file = String(given).replace(/^file:\/\//, "");
  if (file.startsWith("/$bunfs/")) return;
  if (loadsPlugins && !file.includes("/.opencode/") && !isInWorkspace(file.replace(/[?#].*$/, ""))) return;
  throw new Error(REFUSED + file);
}
Bun.plugin({
  name: "turnd",
  setup: (build) => void build.onLoad({ filter: /.*/, namespace: "file" }, (file) => check(file.path)),
});
const { dlopen } = bun;
bun.dlopen = function (module, file, ...rest) {
  check(file);
  return dlopen.call(this, module, file, ...rest);
};
for (const holder of [globalThis, workers]) {
  const { Worker } = holder;
  holder.Worker = class extends Worker {
    constructor(file, ...rest) {
      check(file);
      super(file, ...rest);
    }
  };
}

const HIDDEN = new Set([".opencode", "opencode.json", "opencode.jsonc"]);
const { access } = fs;
fs.access = function (file, ...rest) {
  if (!HIDDEN.has(path.basename(String(file)))) return access.call(this, file, ...rest);
  const error = new Error("ENOENT: no such file or directory, access '" + file + "'");
  Object.assign(error, { code: "ENOENT", errno: -2, syscall: "access", path: String(file) });
  bun.nextTick(rest.at(-1), error);
};

let answer = "it was loaded";
await import("/proc/self/status?/.opencode/trial.js").catch((error) => { answer = String(error.message); });
if (!answer.startsWith(REFUSED)) throw new Error("turnd: this CLI cannot be kept from loading files: " + answer);
if ((await import("node:fs")).access !== fs.access) throw new Error("turnd: nothing can be hidden from this CLI");
// No other command needs it, and turnd gives "debug config" one that is no JSON.
for (const file of bun.argv[2] === "run" ? configFiles : []) {
  try { JSON.parse(fs.readFileSync(file, "utf8")); }
  catch (error) { throw new Error("turnd: the configuration cannot be read: " + error.message); }
}
if (wantsProof) console.error(PROOF);
`;
