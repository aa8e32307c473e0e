import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { EngineItem, InstanceName, SandboxEngine } from "../../../src/service/sandboxes/sandbox-engine.ts";

/** A container engine in memory, which several services may share. It counts what no engine could take back. */
export interface ScriptedEngine {
  readonly engine: SandboxEngine;
  /** Ids and generations that run, oldest first. */
  running(): InstanceName[];
  /** Sandboxes that have a volume. */
  volumes(): string[];
  /** Every start, in order. */
  readonly launches: InstanceName[];
  /** What must not happen: two owners of a volume. */
  readonly violations: string[];
  /** An instance ends by itself. */
  die(id: string): void;
  /** An instance that another service, or a lost database, has left. */
  leave(name: InstanceName): void;
  /** The next start fails so. */
  failNext(message: string): void;
  /** From now on instances start, but do not become ready until the promise settles. */
  holdReady(until: Promise<void>): void;
  /** An instance is started again by a person, and answers elsewhere. */
  move(id: string): void;
  /** Whether it answers at all. */
  isAway: boolean;
  /** Whether it takes requests for a start, an address or its state, and does not answer. */
  isSilent: boolean;
}

interface Instance extends InstanceName {
  readonly token: string;
  isRunning: boolean;
  isReady: boolean;
  hasMoved: boolean;
}

export async function startScriptedEngine(): Promise<ScriptedEngine> {
  let instances: Instance[] = [];
  const volumes = new Map<string, Date>();
  const failures: string[] = [];
  let held: Promise<void> | undefined;
  const of = (name: InstanceName) => (each: Instance) => each.id === name.id && each.generation === name.generation;
  const server = createServer((request, response) => {
    const [, moved, id = "", generation = "", path = ""] =
      /^(\/moved)?\/([^/]+)\/(\d+)(\/.*)$/.exec(request.url ?? "") ?? [];
    const found = instances.find(of({ id, generation: Number(generation) }));
    if (found?.isRunning !== true || found.hasMoved !== (moved !== undefined)) return void request.socket.destroy();
    const isKnown = request.headers.authorization === `Bearer ${found.token}`;
    response.setHeader("content-type", "application/json");
    if (path === "/v1/health") response.end("{}");
    else if (path === "/v1/ready")
      response.writeHead(found.isReady ? 200 : 503).end(JSON.stringify({ ready: found.isReady, checks: [] }));
    else if (!isKnown)
      response.writeHead(401).end(JSON.stringify({ detail: { code: "unauthorized", message: "another token" } }));
    else response.end(JSON.stringify({ executors: [] }));
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const addressOf = (name: InstanceName): string =>
    `${base}${instances.find(of(name))?.hasMoved === true ? "/moved" : ""}/${name.id}/${name.generation}`;

  const scripted: ScriptedEngine = {
    launches: [],
    violations: [],
    isAway: false,
    isSilent: false,
    running: () => instances.filter(({ isRunning }) => isRunning).map(({ id, generation }) => ({ id, generation })),
    volumes: () => [...volumes.keys()],
    die(id) {
      for (const each of instances) if (each.id === id) each.isRunning = false;
    },
    move(id) {
      for (const each of instances) if (each.id === id) each.hasMoved = true;
    },
    leave(name) {
      instances.push({ ...name, token: "left", isRunning: true, isReady: true, hasMoved: false });
      volumes.set(name.id, new Date());
    },
    failNext: (message) => void failures.push(message),
    holdReady(until) {
      held = until;
    },
    engine: {
      kind: "docker",
      spec: { image: "scripted" },
      async launch(name, token, signal) {
        signal.throwIfAborted();
        await answering();
        instances = instances.filter(({ id }) => id !== name.id);
        await new Promise((resolve) => setImmediate(resolve));
        if (instances.some(({ id, isRunning }) => id === name.id && isRunning))
          scripted.violations.push(`two instances of ${name.id}`);
        scripted.launches.push({ id: name.id, generation: name.generation });
        const instance: Instance = { ...name, token, isRunning: true, isReady: held === undefined, hasMoved: false };
        instances.push(instance);
        volumes.set(name.id, volumes.get(name.id) ?? new Date());
        const failure = failures.shift();
        if (failure !== undefined) {
          instance.isRunning = false;
          throw new Error(failure);
        }
        void held?.then(() => (instance.isReady = true));
        return addressOf(name);
      },
      async find(name) {
        await answering();
        return instances.find(of(name))?.isRunning === true ? addressOf(name) : undefined;
      },
      lastLines: async ({ generation }) => `the last line of generation ${generation}`,
      async halt(name) {
        assertThere();
        instances = instances.filter((each) => !of(name)(each));
      },
      async remove(id) {
        assertThere();
        instances = instances.filter((each) => each.id !== id);
        volumes.delete(id);
      },
      async list(): Promise<EngineItem[]> {
        assertThere();
        return [
          ...instances.map(({ id, generation, isRunning }) => ({
            what: "instance" as const,
            id,
            generation,
            isRunning,
          })),
          ...[...volumes].map(([id, createdAt]) => ({ what: "volume" as const, id, createdAt })),
        ];
      },
      look: async () =>
        scripted.isSilent
          ? new Promise<never>(() => undefined)
          : scripted.isAway
            ? { ok: false, message: "away" }
            : { ok: true },
    },
  };
  async function answering(): Promise<void> {
    if (scripted.isSilent) await new Promise(() => undefined);
    assertThere();
  }
  function assertThere(): void {
    if (scripted.isAway) throw Object.assign(new Error("the engine is away"), { code: "ECONNREFUSED" });
  }
  return scripted;
}
