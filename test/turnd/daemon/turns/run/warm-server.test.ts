import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { APP_SERVER } from "../../../../../src/turnd/daemon/executors/cli-b/app-server/server.ts";
import type { Invocation } from "../../../../../src/turnd/daemon/executors/contract/invocation.ts";
import type { ServerProcess } from "../../../../../src/turnd/daemon/process/server/server-process.ts";
import { openWarmServer, type WarmServer } from "../../../../../src/turnd/daemon/turns/run/warm-server.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const INVOCATION: Invocation = {
  mode: "execute",
  configuration: { isConfigured: false, files: [], env: {}, warnings: [], effective: [], secrets: [], details: {} },
  workspace: "/workspace",
  permissions: {},
  images: [],
};

function open(from?: { readonly stdout: number; readonly stderr: number }): { server: WarmServer; stdout: string } {
  const directory = temporaryDirectory(onTestFinished);
  const stdout = join(directory, "stdout.jsonl");
  const stderr = join(directory, "stderr.log");
  writeFileSync(stdout, "first\n");
  writeFileSync(stderr, "");
  const process: ServerProcess = {
    directory,
    started: { keeperPid: 1, keeperStart: 1, pid: 1, pidStart: 1, isSubreaper: true },
    stdoutPath: stdout,
    stderrPath: stderr,
    channel: { write: async () => {}, close: async () => {} },
    exited: new Promise(() => {}),
    isRunning: () => true,
    cli: () => ({ pid: 1, pidStart: 1 }),
    leftovers: () => [],
    end: async () => [],
  };
  const options = { number: 1, key: "", process, interactive: APP_SERVER, invocation: INVOCATION, epoch: "a1" };
  const server = openWarmServer(from === undefined ? options : { ...options, from });
  onTestFinished(() => server.close());
  return { server, stdout };
}

// Law: nothing printed is dropped.
test("what a server of an earlier turnd prints before its turn is there is given to the turn", () => {
  const { server, stdout } = open({ stdout: 0, stderr: 0 });
  appendFileSync(stdout, "second\n");
  server.look();
  expect(server.position()).toEqual({ stdout: 0, stderr: 0 });
  let seen = "";
  server.attach({ stdout: (bytes) => void (seen += bytes.toString("utf8")), stderr: () => {} });
  server.look();
  expect(seen).toBe("first\nsecond\n");
});

test("a server that begins a turn by itself, between turns, does no other", () => {
  const { server, stdout } = open();
  server.look();
  expect(server.isFit).toBe(true);
  appendFileSync(stdout, '{"method":"turn/started","params":{}}\n');
  server.look();
  expect(server.isFit).toBe(false);
});

test("the answers to greetings and pings are no turn's", () => {
  expect(APP_SERVER.isAside('{"id":"a1:0:greeting","result":{}}')).toBe(true);
  expect(APP_SERVER.isAside('{"error":{"code":-32600,"message":"Already initialized"},"id":"a1:0:greeting"}')).toBe(
    true,
  );
  expect(APP_SERVER.isAside('{"error":{"code":-32600,"message":"no"},"id":"a1:3:turn"}')).toBe(false);
});
