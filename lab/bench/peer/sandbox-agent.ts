import { chmodSync, copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { followEvents, type Arrival } from "../sse-client.ts";

/** The peer that is closest to turnd: docs/performance.md says what it does and does not. */
export const PEER = "sandbox-agent 0.4.2";
const PACKAGE = "@sandbox-agent/cli-linux-x64@0.4.2";
const STARTS_WITHIN_MS = 10_000;
const ENDS_WITHIN_MS = 5_000;
const AGENT = "/v1/acp/one";

/** A running peer, with its agent started and a session open. */
export interface Peer {
  readonly url: string;
  readonly pid: number;
  /** Sends a prompt; resolves when the agent's turn has ended. */
  prompt(text: string): Promise<void>;
  /** Follows everything the agent sends until the signal aborts. */
  follow(now: () => number, onArrival: (arrival: Arrival) => void, signal: AbortSignal): Promise<void>;
}

/** Installs the peer from npm into a directory; nothing of it runs but its own binary. @returns the binary */
export async function installPeer(directory: string): Promise<string> {
  const args = ["install", "--prefix", directory, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit"];
  await execa("npm", [...args, PACKAGE], { cwd: directory });
  const binary = join(directory, "node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent");
  chmodSync(binary, 0o755);
  return binary;
}

/** A program that answers as the peer does, as far as it is asked. */
export const BARE_RELAY = [process.execPath, join(import.meta.dirname, "bare-relay.mjs")] as const;

/**
 * Starts the peer on loopback, telemetry off, in a home of its own, and ends it when `use` has ended.
 *
 * @param command - its binary, or `BARE_RELAY`
 */
export async function withPeer<T>(
  [program, ...args]: readonly [string, ...string[]],
  directory: string,
  use: (peer: Peer) => Promise<T>,
): Promise<T> {
  const [bin, home] = [join(directory, "bin"), join(directory, "home")];
  for (const path of [bin, home]) mkdirSync(path, { recursive: true });
  copyFileSync(join(import.meta.dirname, "acp-agent.pl"), join(bin, "opencode"));
  chmodSync(join(bin, "opencode"), 0o755);
  const port = await freePort();
  // Only loopback is reachable: a peer that asks a registry waits for nothing.
  const nowhere = "http://127.0.0.1:9";
  const child = execa(
    program,
    [...args, "server", "--no-telemetry", "--no-token", "--host", "127.0.0.1", "--port", String(port)],
    {
      env: {
        HOME: home,
        PATH: `${bin}:/usr/bin:/bin`,
        HTTP_PROXY: nowhere,
        HTTPS_PROXY: nowhere,
        NO_PROXY: "127.0.0.1",
      },
      extendEnv: false,
      reject: false,
      stdio: ["ignore", "ignore", "ignore"],
    },
  );
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilHealthy(url);
    return await use({
      url,
      pid: child.pid ?? 0,
      prompt: async (text) => {
        await call(url, "session/prompt", { sessionId: "one", prompt: [{ type: "text", text }] });
      },
      follow: (now, onArrival, signal) => followEvents(`${url}${AGENT}`, now, onArrival, { signal }),
    });
  } finally {
    // It ends its agent only by DELETE, and on a busy machine does not always answer; without it the agent ends by itself.
    await fetch(`${url}${AGENT}`, { method: "DELETE", signal: AbortSignal.timeout(ENDS_WITHIN_MS) }).catch(
      () => undefined,
    );
    child.kill("SIGKILL");
    await child;
  }
}

/** Starts the agent and opens its session. */
export async function openSession({ url }: Peer): Promise<void> {
  await call(url, "initialize", { protocolVersion: 1, clientCapabilities: {} }, "?agent=opencode");
  await call(url, "session/new", { cwd: "/tmp", mcpServers: [] });
}

/** Resolves with the first healthy answer. @throws when there is none in time */
export async function untilHealthy(url: string): Promise<void> {
  const limit = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    const isHealthy = await fetch(`${url}/v1/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (isHealthy) return;
    if (performance.now() > limit) throw new Error(`${PEER} did not start within ${STARTS_WITHIN_MS} ms`);
    await delay(1);
  }
}

/** MiB that a process holds, with the processes below it left out. */
export function residentMiB(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

let lastId = 0;

async function call(url: string, method: string, params: unknown, query = ""): Promise<void> {
  lastId += 1;
  const response = await fetch(`${url}${AGENT}${query}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: lastId, method, params }),
  });
  const body = await response.text();
  if (!response.ok || !body.includes('"result"')) throw new Error(`${PEER} answered ${method} with ${body}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return address.port;
}
