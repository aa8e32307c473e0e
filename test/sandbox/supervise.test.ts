import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { ownUid } from "../harness/own-uid.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const UID = ownUid();

/** Runs until a signal stops it, which it writes to a file; every start adds its pid to a file. The front has a child, as nginx has its worker. */
const PROGRAM = `#!/usr/bin/perl
my ($name, $directory) = @ARGV;
sub note { open(my $file, '>>', "$directory/$_[0]") or die; syswrite $file, "$_[1]\\n" }
$SIG{CHLD} = 'IGNORE';
my $child = $name eq 'front' ? fork : 0;
if ($name eq 'front' && !$child) { sleep 1 while 1 }
$SIG{$_} = sub { note('ended', $name); kill KILL => $child if $child; exit 0 } for qw(TERM QUIT);
note($name, $$);
sleep 1 while 1;
`;

/** Starts the supervisor over two small programs. `limit` is of processes, for all of them together. */
async function startSupervised({ limit }: { readonly limit?: number } = {}) {
  const directory = temporaryDirectory(onTestFinished);
  const program = join(directory, "program");
  writeFileSync(program, PROGRAM, { mode: 0o755 });
  // The repository may lie where that user cannot go.
  const supervise = join(directory, "supervise");
  copyFileSync(join(REPOSITORY, "sandbox/supervise"), supervise);
  await execa("chown", ["-R", String(UID), directory]);
  const asOther = ["setpriv", `--reuid=${UID}`, `--regid=${UID}`, "--clear-groups"];
  const [file = "", ...args] = [
    ...(limit === undefined ? [] : ["prlimit", `--nproc=${limit}`]),
    ...asOther,
    supervise,
    ...[UID, UID].map(String),
    ...["turnd", "front"].flatMap((name) => [`${name}:`, "/usr/bin/perl", program, name, directory]),
  ];
  const supervisor = execa(file, args, { reject: false, cwd: "/" });
  let log = "";
  supervisor.stderr.on("data", (chunk) => (log += String(chunk)));
  onTestFinished(async () => {
    supervisor.kill("SIGTERM");
    await supervisor;
    // Whatever a test has left of it.
    await execa("pkill", ["-KILL", "-U", String(UID)], { reject: false });
  });
  const read = (name: string): string[] =>
    existsSync(join(directory, name)) ? readFileSync(join(directory, name), "utf8").trim().split("\n") : [];
  const started = (name: string, times: number) =>
    waitFor(`start ${times} of ${name}`, async () => read(name).length >= times && Number(read(name).at(-1)));
  return { supervisor, read, started, log: () => log };
}

test("a program that ends is started again, five times in a minute, and then the supervisor ends with exit code 17", async () => {
  const { supervisor, started, log } = await startSupervised();
  await started("front", 1);
  for (let times = 1; times <= 6; times += 1) process.kill(await started("turnd", times), "SIGKILL");
  expect((await supervisor).exitCode).toBe(17);
  expect(log()).toContain("turnd ended by itself (exit code 137, SIGKILL): starting it again (1 of 5 in a minute)");
  expect(log()).toContain(
    "turnd ended by itself (exit code 137, SIGKILL) once more: giving up after 5 restarts in a minute",
  );
});

test("at a signal to stop it ends turnd first, then the front", async () => {
  const { supervisor, read, started } = await startSupervised();
  await Promise.all([started("turnd", 1), started("front", 1)]);
  supervisor.kill("SIGTERM");
  expect((await supervisor).exitCode).toBe(0);
  expect(read("ended")).toEqual(["turnd", "front"]);
});

test("where no process is left to be had it lives, tries again, and counts none of it", async () => {
  // Itself, both programs and the front's child.
  const { supervisor, started, log } = await startSupervised({ limit: 4 });
  await Promise.all([started("turnd", 1), started("front", 1)]);
  // One more than may be, so that what ends leaves no place.
  const taker = execa(
    "setpriv",
    [`--reuid=${UID}`, `--regid=${UID}`, "--clear-groups", "perl", "-e", "exec 'sleep', '1000'"],
    { reject: false },
  );
  // It counts from when it has become that user, not from when it was started.
  await waitFor("the one more", () => readFileSync(`/proc/${taker.pid}/status`, "utf8").includes(`\nUid:\t${UID}\t`));
  process.kill(await started("turnd", 1), "SIGKILL");
  await waitFor("a fork that fails", async () => log().includes("turnd cannot be started: Resource temporarily"));
  expect(supervisor.nodeChildProcess.exitCode).toBeNull();
  taker.kill("SIGKILL");
  await taker;
  await started("turnd", 2);
  expect(log()).not.toContain("giving up");
});

test("a front that is left without a worker is started again", async () => {
  const { started, log } = await startSupervised();
  const front = await started("front", 1);
  const child = readFileSync(`/proc/${front}/task/${front}/children`, "utf8").trim();
  process.kill(Number(child), "SIGKILL");
  await started("front", 2);
  expect(log()).toContain("the front has no worker left: ending it");
});
