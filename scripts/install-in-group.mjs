// What scripts/install-packages.mjs starts, as the leader of a process group: it installs, and ends the whole group when the
// process that started it is gone. Plain JavaScript that runs on Node 20.
//
//   install-in-group <repository> <process that started it> <folder> …
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HIDDEN_LOCK, isInstalled, markInstalled, STAMP } from "./install-missing.mjs";
import { npmCommand } from "./run-npm.mjs";

const GRACE_MS = 2_000;
const PROGRESS_MS = 5_000;
const MAX_KEPT = 16_384;
/** npm's error codes where an earlier installation is in its way. */
const IS_BROKEN = /\b(ENOTEMPTY|EEXIST|ENOTDIR|EISDIR)\b/;

const [root = "", starter = "", ...folders] = process.argv.slice(2);
let isEnding = false;

/** Everything of this group, this process too. */
function endGroup() {
  process.kill(-process.pid, "SIGKILL");
}

function end() {
  if (isEnding) return;
  isEnding = true;
  process.kill(-process.pid, "SIGTERM");
  setTimeout(endGroup, GRACE_MS);
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, end);
process.stdin.on("error", end).on("close", end).on("end", end).resume();
writeFileSync(join(root, ".turnd-install.lock"), `${starter}\n`);

for (const folder of folders) {
  const directory = join(root, folder);
  // Another start may have done it while this one waited for the lock.
  if (!isInstalled(directory)) await install(directory, folder);
}
process.exit(0);

async function install(directory, folder) {
  const what = folder === "." ? "the repository" : folder;
  const wanted = readWanted(directory);
  console.error(`turnd: installing the packages of ${what} (${wanted.length}) …`);
  const startedAt = Date.now();
  const timer = setInterval(() => {
    const done = wanted.filter((path) => existsSync(join(directory, path, "package.json"))).length;
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    console.error(`turnd: ${done} of ${wanted.length} packages of ${what}, after ${seconds} s`);
  }, PROGRESS_MS);
  // Removed first, so that a partial installation does not count as installed.
  for (const file of [STAMP, HIDDEN_LOCK]) rmSync(join(directory, file), { force: true });
  const first = await runNpmCi(directory);
  let { code } = first;
  if (code !== 0 && !isEnding && IS_BROKEN.test(first.said)) {
    console.error(`turnd: what an installation that was broken off has left of ${what} is removed, and made again`);
    rmSync(join(directory, "node_modules"), { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    ({ code } = await runNpmCi(directory));
  }
  clearInterval(timer);
  if (isEnding) return endGroup();
  if (code !== 0) {
    console.error(`turnd: npm ci failed in ${directory} (${code === null ? "it was ended" : `exit code ${code}`})`);
    process.exit(1);
  }
  markInstalled(directory);
  console.error(`turnd: installed the packages of ${what} in ${Math.round((Date.now() - startedAt) / 1000)} s`);
}

/** Paths of the packages that have to be there; the optional ones of other machines are not. */
function readWanted(directory) {
  const { packages } = JSON.parse(readFileSync(join(directory, "package-lock.json"), "utf8"));
  return Object.entries(packages).flatMap(([path, { os, cpu, libc }]) => {
    const isForOthers =
      (os !== undefined && !os.includes(process.platform)) || (cpu !== undefined && !cpu.includes(process.arch));
    return path === "" || isForOthers || libc?.includes("musl") ? [] : [path];
  });
}

/** @returns {Promise<{ code: number | null, said: string }>} what it wrote, its end at most */
function runNpmCi(directory) {
  const { command, args, env } = npmCommand(["ci"]);
  const child = spawn(command, args, { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (bytes) => {
      process.stderr.write(bytes);
      said = (said + String(bytes)).slice(-MAX_KEPT);
    });
  }
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: 1, said: String(error) }));
    child.once("exit", (code) => resolve({ code, said }));
  });
}
