import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { processesNaming } from "../harness/processes.ts";
import { binaryOf, LIGHT_CLIS, shareStage, type RealCli } from "../harness/real-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const SILENT_SECONDS = 30;
/** What a CLI does between two records fits into it, on a busy machine too. */
const IDLE_MS = 20_000;
/** Numbers of this test only: found again in the arguments of processes. */
const LEFT_SECONDS = { "cli-a": 300_000 + (process.pid % 100_000), "cli-b": 400_000 + (process.pid % 100_000) };
/** A server that a CLI keeps beside itself for the whole turn. */
const SERVER = String.raw`$| = 1;
while (<STDIN>) {
    my ($id) = /"id":\s*(\d+)/ or next;
    my $result = /"initialize"/
      ? '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}'
      : /"tools\/list"/ ? '{"tools":[]}' : '{}';
    print qq({"jsonrpc":"2.0","id":$id,"result":$result}\n);
}`;

/** The real CLI, in a program that does not exit after it. */
function stayingCli({ executor, version }: RealCli, onDone: (cleanUp: () => void) => void): string {
  const path = join(temporaryDirectory(onDone), "staying");
  const binary = binaryOf(version);
  const script = `for argument; do case $argument in run|exec) "${binary}" "$@"; sleep ${LEFT_SECONDS[executor]};; esac; done`;
  writeFileSync(path, `#!/bin/sh\n${script}\nexec "${binary}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

// All of them wait: at once.
describe.concurrent.each(LIGHT_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("a tool that is silent for longer than the idle timeout goes on", async () => {
    const silent = { executor, input: `@@sleep:${SILENT_SECONDS}@@`, idle_timeout_ms: IDLE_MS };
    expect(await stage().turnd.run(silent)).toMatchObject({ status: "completed", counts: { tools: 1 } });
  });

  test("a CLI that hangs is ended by the idle timeout, a server beside it or not", async () => {
    const mcp_servers = { local: { type: "stdio", command: "perl", args: ["-e", SERVER] } };
    const result = await stage().turnd.run({ executor, input: "@@hang@@", idle_timeout_ms: 5_000, mcp_servers });
    expect(result.failure).toMatchObject({ code: "idle_timeout" });
    expect(processesNaming(result.turn_id, "anywhere")).toEqual([]);
  });
});

describe.concurrent.each(LIGHT_CLIS)("$executor $version over a kill of turnd", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("a tool that is silent for longer than the idle timeout goes on", async () => {
    const silent = { executor, input: `@@sleep:${SILENT_SECONDS}@@`, idle_timeout_ms: IDLE_MS };
    const { turn_id } = await stage().turnd.admit(silent);
    await waitFor("the command", () => {
      const own = processesNaming(turn_id, "anywhere");
      return processesNaming(`sleep\0${SILENT_SECONDS}`).some((pid) => own.includes(pid));
    });
    await stage().end("SIGKILL");
    await stage().start();
    const { turnd } = stage();
    for await (const frame of turnd.follow(turn_id)) if (frame.event === "end") break;
    expect((await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body).toMatchObject({
      status: "completed",
      counts: { tools: 1 },
    });
  });
});

describe.concurrent.each(LIGHT_CLIS)("$executor $version that does not exit", (cli) => {
  const name = cli.executor === "cli-a" ? "CLI_A_BIN" : "CLI_B_BIN";
  const cleanUps: (() => void)[] = [];
  afterAll(() => cleanUps.forEach((cleanUp) => cleanUp()));
  const stage = shareStage(cli, {
    env: () => ({ [name]: stayingCli(cli, (one) => cleanUps.push(one)), TURND_EXIT_TIMEOUT_MS: "1000" }),
  });
  const { executor } = cli;

  test("its turn is completed, and nothing of it is left", async () => {
    const { turnd } = stage();
    const result = await turnd.run({ executor, input: "@@text:All done.@@" });
    expect(result).toMatchObject({ status: "completed", output: "All done." });
    const warnings = (await turnd.events(result.turn_id)).flatMap(({ type, data }) =>
      type === "warning" ? [data.code] : [],
    );
    expect(warnings).toContain("cli_did_not_exit");
    expect(processesNaming(`sleep\0${LEFT_SECONDS[executor]}`)).toEqual([]);
    expect(processesNaming(result.turn_id, "anywhere")).toEqual([]);
  });
});
