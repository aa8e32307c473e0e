import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Problem } from "../../../../src/turnd/protocol/index.ts";
import { listProcesses } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { startFileWorker } from "../../../../src/turnd/daemon/process/user-files/file-worker.ts";
import { refusalOf } from "../../../../src/turnd/daemon/files/refusals.ts";
import { readPath } from "../../../../src/turnd/daemon/files/file-path.ts";
import { startAttack } from "../../../harness/attack.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { createTestFiles } from "../../../harness/file-service.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { CLI_USER, temporaryDirectory, userDirectory, userFile } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { createFilesApp, SESSION, type FilesApp } from "./files-app.ts";

/** Only root can mount, and can make what the CLIs' user may not remove. */
const IS_ROOT = process.getuid?.() === 0;

/** Makes a tree of the CLIs' user: so many files, below as many directories in each other. */
function makeTree(path: string, { files, depth = 0 }: { readonly files: number; readonly depth?: number }): void {
  const script = `
    my ($path, $files, $depth) = @ARGV;
    mkdir $path and chdir $path or die "$path: $!";
    for my $n (1 .. $files) { open(my $file, '>', "file$n") or die $! }
    for (1 .. $depth) { mkdir 'd' and chdir 'd' or die $! }`;
  const [command = "", ...args] = asUser(CLI_USER, ["/usr/bin/perl", "-e", script, path, `${files}`, `${depth}`]);
  execFileSync(command, args);
}

/** Trees that are large enough to be met in the middle take their time where others work too. */
const LARGE = { timeout: 300_000 };

const remove = (api: FilesApp, path: string, signal?: AbortSignal): Promise<Response> =>
  api.ask(`/${path}?recursive=true`, { method: "DELETE", ...(signal === undefined ? {} : { signal }) });

async function refusal(response: Response): Promise<string> {
  const { detail } = Problem.parse(await response.json());
  return `${response.status} ${detail.code}: ${detail.message}`;
}

/** Stops the process that removes a path, in the middle, and finds it so. @param within - a directory that it is in by then */
async function holdRemoval(path: string, within?: string): Promise<number> {
  const hex = Buffer.from(path).toString("hex");
  const pid = await waitFor("the removal", () => {
    const found = processesNaming(hex);
    const one = listProcesses().find((each) => found.includes(each.pid) && found.includes(each.parentPid))?.pid;
    return one !== undefined && (within === undefined || readlinkSync(`/proc/${one}/cwd`) === within) && one;
  });
  process.kill(pid, "SIGSTOP");
  await waitFor("it stands still", () => listProcesses().some((each) => each.pid === pid && each.state === "T"));
  return pid;
}

const isRemoving = (path: string): boolean => processesNaming(Buffer.from(path).toString("hex")).length > 0;

test("a tree of any depth and width is removed whole, and nothing that a link in it leads to", async () => {
  const api = await createFilesApp();
  makeTree(join(api.workspace, "tree"), { files: 5_000, depth: 1_500 });
  expect((await remove(api, "tree")).status).toBe(204);
  expect(readdirSync(api.workspace)).toEqual([]);
});

test("what removes says so as it goes, so that only one that stands still is given up", async () => {
  const workspace = userDirectory(join(temporaryDirectory(onTestFinished), "workspace"));
  makeTree(join(workspace, "tree"), { files: 1_000 });
  const task = { runAs: CLI_USER, task: "remove", workspace, path: Buffer.from("tree"), stallMs: 60_000 } as const;
  const worker = await startFileWorker({ ...task, options: ["recursive=1"] });
  const lines: (string | undefined)[] = [];
  do lines.push(await worker.readLine());
  while (lines.at(-1) === "progress");
  await worker.end();
  expect(lines[0]).toBe("progress");
  expect(lines.at(-1)).toBe("removed");
});

test("a removal may take longer than a transfer may stand still", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const program = join(directory, "helper");
  // Longer than the limit in all, and far shorter at a time.
  writeFileSync(
    program,
    `$| = 1; for (1 .. 12) { print "progress\\n"; select undef, undef, undef, 0.4 } print "removed\\n";
     open(my $turnd, '+<&=', 3); syswrite $turnd, 'exited 0';`,
  );
  const files = createTestFiles({ runAs: { ...CLI_USER, helper: program }, stallMs: 3_000 });
  const where = { sessionId: SESSION, workspace: directory };
  await expect(files.remove(where, readPath("tree"), { isRecursive: true })).resolves.toBeUndefined();
});

test("a directory that a process keeps filling is directory_not_empty, and says so", async () => {
  const api = await createFilesApp();
  const tree = join(api.workspace, "tree");
  // One that gets no processor time meanwhile fills nothing.
  const said = await waitFor("a refusal", async () => {
    if (!existsSync(tree)) makeTree(tree, { files: 100, depth: 2 });
    const attack = await startAttack("refill", join(tree, "d"), "300");
    const response = await remove(api, "tree");
    attack.end();
    return response.status === 204 ? undefined : refusal(response);
  });
  expect(said).toMatch(
    /^409 directory_not_empty: a process keeps filling the directory while it is removed: .*: tree\/d/,
  );
  expect(readdirSync(tree)).toEqual(["d"]);
  await waitFor("its end", async () => (await remove(api, "tree")).status === 204);
});

test.runIf(IS_ROOT)("what cannot be removed is named with its reason, and everything else is gone", async () => {
  const api = await createFilesApp();
  makeTree(join(api.workspace, "tree"), { files: 100, depth: 2 });
  const closed = join(api.workspace, "tree/d/of\nroot");
  mkdirSync(closed);
  writeFileSync(join(closed, "file"), "");
  expect(await refusal(await remove(api, "tree"))).toBe(
    "403 file_forbidden: the user of the CLIs may not do that: tree/d/of\nroot/file",
  );
  expect(readdirSync(join(api.workspace, "tree"))).toEqual(["d"]);
  expect(readdirSync(join(api.workspace, "tree/d"))).toEqual(["of\nroot"]);
  chmodSync(closed, 0o777);
  expect((await remove(api, "tree")).status).toBe(204);
});

test.runIf(IS_ROOT).each([
  ["rw", "403 file_forbidden: the system uses it, as a mount point for example: tree/d"],
  ["ro", "403 file_forbidden: the file system is read-only: tree/d/file"],
])("a mount (%s) in a tree is refused as what it is", async (access, expected) => {
  const api = await createFilesApp();
  const mount = join(api.workspace, "tree/d");
  makeTree(join(api.workspace, "tree"), { files: 1, depth: 1 });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=755,uid=1000,gid=1000", "turnd-test", mount]);
  onTestFinished(() => void execFileSync("umount", ["--lazy", mount]));
  writeFileSync(join(mount, "file"), "");
  userFile(join(mount, "file"));
  execFileSync("mount", ["-o", `remount,${access}`, mount]);
  expect(await refusal(await remove(api, "tree"))).toBe(expected);
});

test.each([
  ["EACCES 6162", 403, "file_forbidden", "the user of the CLIs may not do that: ab"],
  ["EROFS 6162", 403, "file_forbidden", "the file system is read-only: ab"],
  ["EIO 6162", 503, "transfer_failed", "the disk of the workspace reports an error (EIO): ab"],
  ["EIO", 503, "transfer_failed", "the disk of the workspace reports an error (EIO)"],
  [
    "ENOSPC 6162",
    507,
    "storage_full",
    "the disk of the workspace is full; nothing is left of a file that did not fit: ab",
  ],
  ["ENOMEM 6162", 503, "resources_exhausted", "the system has no room for it: ENOMEM"],
  ["moved 6162", 503, "transfer_failed", "a process moved a directory while it was removed: ab"],
  ["ENOTEMPTY", 409, "directory_not_empty", "the directory is not empty; `recursive=true` removes all below it"],
  ["ENXIO 6162", 503, "transfer_failed", "the process that works on the files could not finish: it answered ENXIO: ab"],
])("what a worker answers, %s, is refused by its reason", (answer, status, code, message) => {
  expect(refusalOf(answer)).toMatchObject({ status, code, message });
});

test("a directory that is moved elsewhere while it is removed leads the removal to nothing there", LARGE, async () => {
  const api = await createFilesApp();
  const [tree, kept] = [userDirectory(join(api.workspace, "tree")), userDirectory(join(api.workspace, "kept"))];
  const names = Array.from({ length: 50 }, (_, number) => `file${number}`);
  for (const path of [tree, kept].flatMap((directory) => names.map((name) => join(directory, name)))) {
    writeFileSync(path, "");
    userFile(path);
  }
  makeTree(join(tree, "inner"), { files: 20_000 });
  const answer = remove(api, "tree");
  const pid = await holdRemoval("tree", join(tree, "inner"));
  renameSync(join(tree, "inner"), join(kept, "inner"));
  process.kill(pid, "SIGCONT");
  expect(await refusal(await answer)).toBe(
    "503 transfer_failed: a process moved a directory while it was removed: tree/inner",
  );
  expect(readdirSync(kept).toSorted()).toEqual(["inner", ...names].toSorted());
});

test("a removal ends when its client leaves", LARGE, async () => {
  const api = await createFilesApp();
  makeTree(join(api.workspace, "left-by-client"), { files: 20_000 });
  const client = new AbortController();
  const answer = remove(api, "left-by-client", client.signal).catch(() => "left");
  await holdRemoval("left-by-client");
  client.abort();
  expect(await answer).toBe("left");
  await waitFor("nothing works on it", () => !isRemoving("left-by-client"));
  expect(readdirSync(join(api.workspace, "left-by-client")).length).toBeGreaterThan(0);
});

test("a removal ends with its session, which its client is told", LARGE, async () => {
  const api = await createFilesApp();
  makeTree(join(api.workspace, "left-by-session"), { files: 20_000 });
  const answer = remove(api, "left-by-session");
  await holdRemoval("left-by-session");
  expect((await fetch(`${api.url}/v1/sessions/${SESSION}`, { method: "DELETE" })).status).toBe(204);
  expect(isRemoving("left-by-session")).toBe(false);
  expect(await refusal(await answer)).toMatch(/^404 session_not_found: session .* was deleted meanwhile$/);
});

test("a session in whose files something is done is in use", async () => {
  const files = createTestFiles();
  const workspace = userDirectory(join(temporaryDirectory(onTestFinished), "workspace"));
  const found = await files.find({ sessionId: SESSION, workspace }, readPath(""));
  expect([files.isInUse(SESSION), files.isInUse("another")]).toEqual([true, false]);
  await found.close();
  expect(files.isInUse(SESSION)).toBe(false);
});

test("nothing of a removal outlives a turnd that is killed", LARGE, async () => {
  const turnd = await fakeDaemon();
  makeTree(join(turnd.workspace, "left-by-turnd"), { files: 20_000, depth: 100 });
  const { session_id: id } = await turnd.run({ executor: "cli-b", input: "hello" });
  const answer = turnd.request("DELETE", `/v1/sessions/${id}/files/left-by-turnd?recursive=true`).catch(() => "gone");
  await holdRemoval("left-by-turnd");
  turnd.kill("SIGKILL");
  expect(await answer).toBe("gone");
  await waitFor("nothing works on it", () => !isRemoving("left-by-turnd"));
  expect(readdirSync(join(turnd.workspace, "left-by-turnd")).length).toBeGreaterThan(0);
});
