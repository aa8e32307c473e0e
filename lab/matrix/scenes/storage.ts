import { does, DONE, run, type Reply } from "../reply.ts";
import { fails, only, works, type Scene } from "../scene.ts";
import { TOOL, wrong } from "./parts.ts";

const DATABASE = "$store/opencode/opencode.db";
const OR_START = { also: ["executor_unavailable"] } as const;
const SPILLED: readonly Reply[] = [
  does(run('dd if=/dev/zero of="$XDG_DATA_HOME/full" 2>/dev/null; echo full')),
  ...Array.from({ length: 4 }, () => does(run("seq 1 600"))),
];

/** Disks that are full, closed or damaged. */
export const STORAGE: readonly Scene[] = [
  ...only(
    "cli-a",
    wrong("corrupt-store", "storage_error", "the store is garbage", {
      prepare: `mkdir -p $store/opencode; yes "this is no database" | head -200 >${DATABASE}`,
    }),
    wrong("corrupt-store-cut", "storage_error", "only the first bytes of the store are there", {
      prepare: `mkdir -p $store/opencode; { printf 'SQLite format 3\\0'; head -c 1000 /dev/urandom; } >${DATABASE}`,
      also: ["executor_unavailable", "crashed"],
    }),
    wrong("data-not-writable", "storage_error", "the data directory is read-only", { prepare: "chmod 555 $store" }),
    wrong("data-not-writable-no-log", "storage_error", "the CLI's own data directory is closed, no log", {
      ...OR_START,
      logs: "none",
      prepare: "mkdir $store/opencode; chmod 500 $store/opencode",
    }),
    wrong("data-is-file", "storage_error", "a file stands where the data directory is to be", {
      ...OR_START,
      prepare: "rmdir $store; echo x >$store",
    }),
    wrong("state-not-writable", "storage_error", "the state directory is read-only", {
      ...OR_START,
      prepare: "mkdir $home/state; chmod 555 $home/state",
    }),
    wrong("cache-not-writable", "storage_error", "the cache directory is read-only", {
      ...OR_START,
      prepare: "mkdir -p $home/cache; chmod 555 $home/cache",
    }),
    wrong("cache-is-file", "storage_error", "a file stands where the cache is to be", {
      prepare: "mkdir $home/cache; echo x >$home/cache/opencode; chmod 555 $home/cache",
    }),
    wrong("store-disk-full", "storage_error", "the disk of the store is full from the start", { disk: "size=64k" }),
    wrong("store-disk-without-inodes", "storage_error", "the disk of the data takes no further files", {
      ...OR_START,
      disk: "size=8m,nr_inodes=3",
    }),
    fails("store-disk-full-later", "storage_error", "a tool fills the disk of the store", SPILLED, {
      disk: "size=4m",
      tools: 0,
    }),
  ),
  ...only(
    "cli-b",
    wrong("home-unwritable", "storage_error", "CODEX_HOME cannot be written", {
      prepareAsRoot: "chown -R 0:0 $store; chmod 755 $store; chmod 644 $config",
    }),
    wrong("home-closed", "storage_error", "nobody may write into CODEX_HOME", {
      ...OR_START,
      prepare: "chmod -R a-w $store",
    }),
    wrong("home-read-only", "storage_error", "CODEX_HOME is on a disk that is mounted to be read", {
      ...OR_START,
      disk: "size=8m",
      prepareAsRoot: "mount -o remount,ro $store",
    }),
    wrong("home-full", "storage_error", "CODEX_HOME is full before the start", {
      ...OR_START,
      disk: "size=1m",
      prepare: "dd if=/dev/zero of=$store/fill bs=4k 2>/dev/null || true",
    }),
    works("disk-full-at-start", "the home has no room from the start: the turn goes on, nothing is saved", DONE, {
      disk: "size=64k",
      also: ["storage_error"],
    }),
    works("disk-full-in-turn", "the transcript has no room: the turn goes on", [does(run("seq 1 20")), DONE], {
      disk: "size=800k",
      also: ["storage_error"],
    }),
    works(
      "disk-filled-by-tool",
      "a command fills the home's disk: the turn goes on",
      [
        does(run('dd if=/dev/zero of="${CODEX_HOME:-$HOME/codex}/fill" bs=64k 2>/dev/null; echo filled')),
        does(run("seq 1 4000")),
        DONE,
      ],
      { disk: "size=16m", also: ["storage_error"] },
    ),
    works("sessions-unwritable", "the history cannot be written", [TOOL, DONE], {
      prepareAsRoot: "rm -rf $store/sessions; mkdir -m 555 $store/sessions",
      also: ["storage_error"],
    }),
    works("state-corrupt", "state_5.sqlite is garbage: the turn goes on", DONE, {
      prepare: "echo garbage >$store/state_5.sqlite",
    }),
  ),
];
