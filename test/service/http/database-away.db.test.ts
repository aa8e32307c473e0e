import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { call, testApp } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { urlOf } from "../harness/role-rows.ts";
import { rowsOf } from "../harness/route-rows.ts";
import { freshDatabase, openTestStorage } from "../harness/storage.ts";

/** What answers without a database. */
const WITHOUT = ["GET /", "GET /api/system/health", "GET /api/system/info", "GET /api/system/ready", "GET /metrics"];
/** What answers a caller who is known already. */
const FOR_THE_KNOWN = ["GET /api/knowledge/files/supported-types"];

// PostgreSQL alone: PGlite is in the process, and cannot be away.
test("while the database is away every route that needs it answers 503 with Retry-After, and not because of its caller", async () => {
  const database = await freshDatabase("postgres");
  const wire = await startWire(new URL(database.url));
  const storage = await openTestStorage({ ...database, url: wire.url });
  onTestFinished(() => storage.close());
  await putAgents(storage, await readAgentsFile(undefined));
  const world = await appWithPeople(storage);
  const calls = [];
  for (const row of await rowsOf(storage, world)) {
    const [method, url] = await urlOf(row);
    calls.push({ route: row.route, headers: row.headers ?? {}, method, url, body: row.body?.() });
  }
  // Who calls is known already: what fails is what the route itself asks of the database.
  const credentials = { authenticate: async () => world.superadmin.caller, isAccepted: async () => true };
  const app = await testApp(storage, { auth: { ...world.auth, credentials } });
  wire.cut();
  const faults = [];
  for (const { route, method, url, headers, body } of calls) {
    for (const to of [app, world.app]) {
      const answer = await call(to, method, url, body, { ...world.superadmin, headers });
      const isRight =
        WITHOUT.includes(route) || (to === app && FOR_THE_KNOWN.includes(route))
          ? answer.status === 200
          : answer.status === 503 &&
            answer.body.detail.code === "not_ready" &&
            Number(answer.headers["retry-after"]) > 0;
      if (!isRight) faults.push([route, answer.status, answer.body]);
    }
  }
  wire.restore();
  expect(faults).toEqual([]);
  expect((await call(world.app, "GET", "/api/auth/me", undefined, world.superadmin)).status).toBe(200);
});

/** Stands between a pool and its database, and can be cut. */
async function startWire(target: URL): Promise<{ url: string; cut(): void; restore(): void }> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      // A connection that breaks is what this is for: the other end breaks with it.
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.pipe(far).pipe(near);
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const breakAll = (): void => sockets.forEach((socket) => socket.destroy());
  onTestFinished(async () => {
    breakAll();
    server.close();
    await once(server, "close");
  });
  return {
    url: Object.assign(new URL(target), { hostname: "127.0.0.1", port: String(port) }).href,
    cut() {
      isCut = true;
      breakAll();
    },
    restore() {
      isCut = false;
    },
  };
}
