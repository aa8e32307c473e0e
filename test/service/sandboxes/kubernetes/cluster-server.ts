import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PersistentVolumeClaim, Pod, Secret } from "kubernetes-models/v1";
import { onTestFinished } from "vitest";

interface Stored {
  kind: string;
  metadata: {
    name: string;
    labels?: Record<string, string>;
    creationTimestamp?: string;
    deletionTimestamp?: string;
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [key: string]: unknown;
}

/** A simulated API server: what it is given it checks by the schemas of Kubernetes, and pods run as the test decides. */
export interface ClusterServer {
  /** Path of a kubeconfig that leads here. */
  readonly kubeconfig: string;
  /** Kind and name of everything it has. */
  names(): string[];
  get(kind: string, name: string): Stored | undefined;
  /** Every deletion, with the grace that was asked for. */
  readonly deletions: { readonly name: string; readonly graceSeconds: string | null }[];
  /** What a new pod becomes; `Running` unless the test decides otherwise. */
  nextStatus: Record<string, unknown>;
  /** How many looks a deleted pod survives. */
  lingers: number;
  log: string;
  isRefusing: boolean;
}

const KINDS: Readonly<Record<string, { kind: string; check: (body: never) => void }>> = {
  pods: { kind: "Pod", check: (body) => new Pod(body).validate() },
  secrets: { kind: "Secret", check: (body) => new Secret(body).validate() },
  persistentvolumeclaims: {
    kind: "PersistentVolumeClaim",
    check: (body) => new PersistentVolumeClaim(body).validate(),
  },
};

export async function startClusterServer(namespace: string): Promise<ClusterServer> {
  const stored = new Map<string, Stored>();
  const looks = new Map<string, number>();
  const cluster: ClusterServer = {
    kubeconfig: "",
    names: () => [...stored.keys()].toSorted(),
    get: (kind, name) => stored.get(`${kind}/${name}`),
    deletions: [],
    nextStatus: { phase: "Running", podIP: "10.1.2.3" },
    lingers: 2,
    log: "",
    isRefusing: false,
  };

  function answer(method: string, url: URL, body: Stored | undefined): [number, unknown] {
    const failure = (code: number, reason: string): [number, unknown] => [
      code,
      { apiVersion: "v1", kind: "Status", status: "Failure", reason, code },
    ];
    if (cluster.isRefusing) return failure(403, "Forbidden");
    const path = /^\/api\/v1\/namespaces\/([^/]+)\/([a-z]+)(?:\/([^/]+)(\/log)?)?$/.exec(url.pathname);
    const [, inNamespace, plural = "", name, log] = path ?? [];
    const known = KINDS[plural];
    if (inNamespace !== namespace || known === undefined) return failure(404, "NotFound");
    const { kind, check } = known;
    if (method === "POST" && body !== undefined) {
      try {
        check(body as never);
      } catch (error) {
        return [422, { kind: "Status", message: String(error), code: 422 }];
      }
      const key = `${kind}/${body.metadata.name}`;
      if (stored.has(key)) return failure(409, "AlreadyExists");
      body.metadata.creationTimestamp = new Date().toISOString();
      if (kind === "Pod") body.status = { ...cluster.nextStatus };
      stored.set(key, body);
      return [201, body];
    }
    if (name === undefined) {
      const wanted = (url.searchParams.get("labelSelector") ?? "").split(",").filter(Boolean);
      const items = [...stored.values()].filter(
        (each) =>
          each.kind === kind &&
          wanted.every((pair) => {
            const [label = "", value] = pair.split("=");
            return each.metadata.labels?.[label] === value;
          }),
      );
      return [200, { apiVersion: "v1", kind: `${kind}List`, metadata: {}, items }];
    }
    const key = `${kind}/${name}`;
    const found = stored.get(key);
    if (found === undefined) return failure(404, "NotFound");
    if (method === "DELETE") {
      cluster.deletions.push({ name, graceSeconds: url.searchParams.get("gracePeriodSeconds") });
      if (kind === "Pod") found.metadata.deletionTimestamp ??= new Date().toISOString();
      else stored.delete(key);
      return [200, found];
    }
    if (log !== undefined) return [200, cluster.log];
    if (found.metadata.deletionTimestamp !== undefined) {
      const seen = (looks.get(key) ?? 0) + 1;
      looks.set(key, seen);
      if (seen > cluster.lingers) stored.delete(key);
    }
    return [200, found];
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const [status, value] = answer(request.method ?? "", new URL(request.url ?? "", "http://cluster"), body);
    const isText = typeof value === "string";
    response.writeHead(status, { "content-type": isText ? "text/plain" : "application/json" });
    response.end(isText ? value : JSON.stringify(value));
  }
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const directory = mkdtempSync(join(tmpdir(), "svc-cluster-"));
  onTestFinished(() => {
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const kubeconfig = join(directory, "config");
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server: at, "insecure-skip-tls-verify": true } }],
      users: [{ name: "test", user: { token: "test" } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      "current-context": "test",
    }),
  );
  return Object.assign(cluster, { kubeconfig });
}

async function readBody(request: IncomingMessage): Promise<Stored | undefined> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  const text = Buffer.concat(parts).toString("utf8");
  return text === "" ? undefined : JSON.parse(text);
}
