import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeImage, shareSandbox, startSandbox, type Sandbox } from "../harness/sandbox.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** For a machine that others load. */
const LIMIT_MS = 300_000;

/**
 * Tries all the time to listen on the ports given, in each way there is; says what it has got, and which round it is in.
 * What it has got it keeps, as an attacker would that waits for a token.
 */
const TAKER = `
use Socket qw(:DEFAULT SO_REUSEPORT);
$| = 1;
my @addresses = ("127.0.0.1", "127.0.0.2", "0.0.0.0", split " ", qx(hostname -I));
for (my $round = 1; ; $round++) {
  for my $port (@ARGV) {
    for my $address (grep { !/:/ } @addresses) {
      for my $options ([], [SO_REUSEADDR], [SO_REUSEPORT], [SO_REUSEADDR, SO_REUSEPORT]) {
        socket(my $socket, AF_INET, SOCK_STREAM, 0) or die;
        setsockopt($socket, SOL_SOCKET, $_, 1) for @$options;
        next unless bind($socket, pack_sockaddr_in($port, inet_aton($address))) && listen($socket, 9);
        push @got, $socket;
        print "got $port on $address\\n";
      }
    }
  }
  print "round $round\\n" if $round % 100 == 0;
  select undef, undef, undef, 0.0005;
}`;

/** Starts the program as the CLIs' user. */
async function startTaker(sandbox: Sandbox, ...ports: readonly number[]): Promise<void> {
  await sandbox.exec(["sh", "-c", `perl -e '${TAKER}' ${ports.join(" ")} >/tmp/taker 2>&1 &`], "1000");
  await waitFor("the first rounds", async () => (await roundsOf(sandbox)) > 0);
}
const printedBy = async (sandbox: Sandbox): Promise<string> => (await sandbox.exec(["cat", "/tmp/taker"])).output;
async function roundsOf(sandbox: Sandbox): Promise<number> {
  return Number([...(await printedBy(sandbox)).matchAll(/^round (\d+)$/gm)].at(-1)?.[1] ?? 0);
}

/** Kills the processes whose command line matches, and waits until others are in their places and turnd answers. */
async function killAndAwaitNext(sandbox: Sandbox, pattern: string): Promise<void> {
  const pids = async () => (await sandbox.exec(["pgrep", "-f", pattern])).output.trim().split("\n").filter(Boolean);
  const killed = await pids();
  expect(killed).not.toEqual([]);
  await sandbox.exec(["sh", "-c", `kill -KILL ${killed.join(" ")}`]);
  await waitFor(`${pattern} to come back`, async () => {
    const now = await pids();
    const health = await sandbox.request("GET", "/v1/health").catch(() => undefined);
    return now.length === killed.length && !now.some((pid) => killed.includes(pid)) && health?.status === 200;
  });
}

describeImage(
  "the ports of turnd and the front, with the least that a container runs with",
  { timeout: LIMIT_MS },
  () => {
    const sandbox = shareSandbox(() => ({
      hasReadOnlyRoot: true,
      capabilities: ["CHOWN", "DAC_READ_SEARCH", "KILL", "SETGID", "SETUID", "SETPCAP"],
      tmpfs: { "/run": "", "/tmp": "", "/home/sandbox": "", "/workspace": "", "/var/lib/turnd": "" },
      hasIpv6: true,
    }));

    test("are never uid 1000's, whichever of their programs is killed", async () => {
      await startTaker(sandbox(), 8080, 8091, 6080);
      for (const pattern of ["main.mjs", "^nginx"]) {
        const before = await roundsOf(sandbox());
        await killAndAwaitNext(sandbox(), pattern);
        await waitFor("further rounds", async () => (await roundsOf(sandbox())) > before);
      }
      expect(await printedBy(sandbox())).toMatch(/^(round \d+\n)+$/);
      expect((await sandbox().request("GET", "/terminal")).status).toBe(200);
      expect(await sandbox().log()).not.toContain("ports cannot be held");
    });

    test("cannot be taken by another user on the container's own addresses", async () => {
      const own = (await sandbox().exec(["hostname", "-I"])).output.trim().split(/\s+/);
      expect(own.length).toBeGreaterThan(0);
      const listen = `const { createServer } = require("node:net");
        for (const host of ["0.0.0.0", "::", ...process.argv.slice(1)]) for (const port of [8080, 8091, 6080])
          createServer().on("error", (error) => console.log(error.code, host, port)).listen({ host, port }, () => console.log("got", host, port));
        setTimeout(() => process.exit(), 1000);`;
      const { output } = await sandbox().exec(["node", "-e", listen, ...own], "1000");
      expect(
        output
          .trim()
          .split("\n")
          .filter((line) => !line.startsWith("EADDRINUSE ")),
      ).toEqual([]);
      expect(output.trim().split("\n").length).toBe(3 * (own.length + 2));
      // What holds them is not handed on to turnd, and so to no CLI.
      const sockets = async (pattern: string): Promise<string[]> => {
        const list = `readlink /proc/$(pgrep -o -f '${pattern}')/fd/* | grep socket:`;
        return (await sandbox().exec(["sh", "-c", list])).output.trim().split("\n");
      };
      const held = await sockets("[t]urnd-supervise");
      expect(held.length).toBe(6);
      expect((await sockets("[m]ain.mjs")).filter((socket) => held.includes(socket))).toEqual([]);
    });

    test("are not shared with a second turnd", async () => {
      const env = ["TURND_STATE_DIR=/tmp/second", "TURND_TERMINAL_PORT=off"];
      const { exitCode, output } = await sandbox().exec(["env", ...env, "turnd", "serve"]);
      expect([exitCode, output]).toEqual([1, expect.stringContaining("EADDRINUSE")]);
    });
  },
);

describeImage("where users are not kept apart", { timeout: LIMIT_MS }, () => {
  test("the container warns and shares no port, and a port can be taken while turnd is started again", async () => {
    const stub = join(temporaryDirectory(onTestFinished), "hold-ports");
    writeFileSync(stub, "#!/bin/sh\nexit 1\n");
    const sandbox = await startSandbox({ files: { "/opt/turnd/sandbox/hold-ports": stub } });
    onTestFinished(() => sandbox.remove());
    expect(await sandbox.log()).toContain("warning: ports cannot be held here");
    await startTaker(sandbox, 8091);
    // The container's own address cannot be held there at all.
    const onLoopback = /got 8091 on (127\.0\.0\.1|0\.0\.0\.0)$/m;
    expect(await printedBy(sandbox)).not.toMatch(onLoopback);
    await sandbox.exec(["pkill", "-KILL", "-f", "main.mjs"]);
    await waitFor("the port to be taken", async () => onLoopback.test(await printedBy(sandbox)));
  });
});
