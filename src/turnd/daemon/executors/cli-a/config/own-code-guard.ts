import { STORE_GUARD } from "./own-store-guard.ts";

/**
 * Runs inside the CLI, before its own code, and keeps a repository's code out of it.
 *
 * 1.18.33 looks for `.opencode` and `opencode.json(c)` in the workspace and above it whatever its switches say, and imports the
 * plugins that it finds there: code in the process, which no permission limits. All versions ask Bun for modules that their
 * binary does not have, which Bun looks for beside the working directory, by its `tsconfig.json` and `node_modules`. So
 *
 * - these names do not exist for that search, which asks by `fs.access` only; tools, which do not, use such files as any other;
 * - Bun itself works in `/`, which is root's: whatever asks JavaScript for the working directory is told the workspace;
 * - no module, native library or worker is loaded from a file, whoever asks for it: the CLI's own code lies in its binary, below
 *   `/$bunfs/`. Where the operator's configuration names plugins, files outside of the workspace are loaded;
 * - the CLI's own git fetches nothing: a repository may name a command for that, and say that a commit is elsewhere.
 *
 * Every start tries what can be tried, and ends the CLI where it does not hold, or where it could not read its configuration,
 * which later versions pass over in silence. Bun asks no plugin about a file whose name has no ending: only the first two keep
 * such a one out. A throw in `onResolve` would crash Bun 1.3.14.
 */
export const GUARD = String.raw`
const { PRELOAD, WANTS_PROOF, PROOF, loadsPlugins, configFiles, stores } = SETTINGS;
const bun = require("node:process");
const fs = require("node:fs");
const path = require("node:path");
const workers = require("node:worker_threads");
const wantsProof = bun.env[WANTS_PROOF] !== undefined;
// What a tool starts must not inherit them.
delete bun.env[PRELOAD];
delete bun.env[WANTS_PROOF];

const REFUSED = "turnd: not loaded, this CLI runs no code of a workspace: ";
const UNSAFE = "turnd: this CLI cannot be kept from loading files: ";
const realpath = (file) => { try { return fs.realpathSync(file); } catch { return path.resolve(file); } };
let directory = bun.cwd();
const workspace = realpath(directory).replace(/\/$/, "") + "/";
const { cwd, chdir } = bun;
const { resolve, relative } = path;
chdir.call(bun, "/");
if (cwd.call(bun) !== "/") throw new Error(UNSAFE + "it works in " + cwd.call(bun));
bun.cwd = () => directory;
bun.chdir = (to) => {
  const next = fs.realpathSync(path.resolve(String(to)));
  fs.accessSync(next + "/.", fs.constants.X_OK);
  directory = next;
};
path.resolve = (...parts) => resolve.call(path, directory, ...parts);
path.relative = (from, to) => relative.call(path, path.resolve(from), path.resolve(to));
const NOBODY = { HOME: "/dev/null", XDG_CONFIG_HOME: "/dev/null" };
const OWN_GIT = { ...NOBODY, GIT_CONFIG_GLOBAL: "/dev/null", GIT_ALLOW_PROTOCOL: "none", GIT_NO_LAZY_FETCH: "1" };
for (const name of ["spawn", "spawnSync"]) {
  const start = Bun[name];
  Bun[name] = function (first, second) {
    const given = Array.isArray(first) ? { ...second, cmd: first } : first;
    const isGit = path.basename(String(given.cmd?.[0])) === "git";
    return start.call(Bun, {
      ...given,
      cwd: given.cwd ?? directory,
      env: isGit ? { ...(given.env ?? bun.env), ...OWN_GIT } : given.env ?? bun.env,
    });
  };
}

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
if (!answer.startsWith(REFUSED)) throw new Error(UNSAFE + answer);
if ((await import("node:fs")).access !== fs.access) throw new Error("turnd: nothing can be hidden from this CLI");
// No other command needs it, and turnd gives "debug config" one that is no JSON.
for (const file of ["run", "serve"].includes(bun.argv[2]) ? configFiles : []) {
  try { JSON.parse(fs.readFileSync(file, "utf8")); }
  catch (error) { throw new Error("turnd: the configuration cannot be read: " + error.message); }
}
${STORE_GUARD}
if (wantsProof) console.error(PROOF);
`;
