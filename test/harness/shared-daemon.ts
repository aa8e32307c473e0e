import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { fakeEnv } from "./fake-env.ts";
import { temporaryDirectory } from "./temporary.ts";

const cleanUps: (() => void)[] = [];
const started = new Map<string, Promise<TestDaemon>>();
afterAll(async () => {
  for (const daemon of started.values()) await (await daemon).stop();
  for (const cleanUp of cleanUps) cleanUp();
});

/**
 * A daemon with the fake CLI B that the tests of a file share, one for each environment: for tests that neither end it nor
 * fill its disk. When a test is done, its sessions, its shells and what is in the workspace are removed.
 */
export async function sharedDaemon(env: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  const key = JSON.stringify(env);
  const daemon = await (started.get(key) ?? start(key, env));
  onTestFinished(() => removeAll(daemon));
  const before = daemon.log.length;
  return {
    ...daemon,
    /** Lines since the test has begun. */
    get log() {
      return daemon.log.slice(before);
    },
    kill: refuse,
    stop: refuse,
  };
}

function start(key: string, env: Readonly<Record<string, string>>): Promise<TestDaemon> {
  const directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  const daemon = startDaemon({ directory, env: { ...fakeEnv(directory), ...env } });
  started.set(key, daemon);
  return daemon;
}

async function removeAll({ request, workspace }: TestDaemon): Promise<void> {
  for (const kind of ["shell/sessions", "sessions"]) {
    const { body } = await request("GET", `/v1/${kind}`);
    for (const { session_id: id } of body.sessions) {
      const { status, text } = await request("DELETE", `/v1/${kind}/${id}`);
      if (status !== 204 && status !== 404) throw new Error(`${kind} ${id} is not removed: ${text}`);
    }
  }
  for (const name of readdirSync(workspace)) rmSync(join(workspace, name), { recursive: true });
}

function refuse(): never {
  throw new Error("a shared daemon is ended by no test: use fakeDaemon");
}
