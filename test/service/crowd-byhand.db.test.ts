import { connect } from "node:net";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished, test, vi } from "vitest";
import { fakeDaemon } from "../harness/fake-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { startMortalProcess } from "./harness/mortal.ts";
import { createClient } from "../harness/client.ts";
import { PASSWORD } from "./harness/auth.ts";
import { waitFor } from "../harness/wait-for.ts";
import { freshDatabase } from "./harness/storage.ts";

vi.setConfig({ testTimeout: 420_000 });
test.each((process.env["CROWD"] ?? "pglite,postgres").split(","))("crowd on %s", async (kind) => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "4" });
  const database = await freshDatabase(kind as never);
  const p = await startMortalProcess({
    directory: temporaryDirectory(onTestFinished),
    turndUrl: turnd.url,
    databaseUrl: database.kind === "postgres" ? database.url : undefined,
    env: { SERVICE_RATE_PER_MINUTE: "0", SERVICE_RATE_ANONYMOUS_PER_MINUTE: "0" },
  });
  const { port } = new URL(p.url);
  const { request } = createClient(p.url);
  const init = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const authorization = `Bearer ${init.body.access_token}`;
  const call = (m: string, path: string, b?: unknown) => request(m, path, b, { authorization });
  const mb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${p.pid}/status`, "utf8"))?.[1]) / 1024;
  const log = (...w: unknown[]) => console.log(`[${kind}]`, ...w);
  const latency = async () => {
    const t = performance.now();
    const a = await call("GET", "/api/auth/me");
    return `${a.status} ${Math.round(performance.now() - t)}ms`;
  };
  log("start", Math.round(mb()), "MB", await latency());
  const newRun = async (query: string) => {
    const thread = (await call("POST", "/api/chat/thread", { agent_id: "cli-b" })).body.id;
    return (await call("POST", "/api/agent/runs", { agent_slug: "cli-b", thread_id: thread, query })).body
      .run_id as string;
  };
  const stream = (runId: string, read: boolean, last = 0) => {
    const s = connect(Number(port), "127.0.0.1");
    let bytes = 0;
    let text = "";
    let head = "";
    s.on("error", () => undefined);
    s.write(
      `GET /api/agent/runs/${runId}/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: ${authorization}\r\naccept: text/event-stream\r\nlast-event-id: ${last}\r\n\r\n`,
    );
    if (read)
      s.on("data", (c) => {
        bytes += c.length;
        if (head.length < 400) head += c.toString();
        text = (text + c.toString()).slice(-600);
      });
    else s.pause();
    const closed = new Promise<void>((r) => s.once("close", () => r()));
    return {
      s,
      closed,
      get bytes() {
        return bytes;
      },
      get head() {
        return head;
      },
      hasEnd: () => text.includes("event: end"),
    };
  };
  // C: slow readers of a big run
  const big = await newRun("bytes 20000000\nDone.");
  await waitFor("big", async () => (await call("GET", `/api/agent/runs/${big}/result`)).body.final === true, 120_000);
  log("big run written", Math.round(mb()), "MB");
  const slow: ReturnType<typeof stream>[] = [];
  for (let i = 0; i < 200; i += 1) {
    slow.push(stream(big, false));
    if (i % 20 === 19) {
      await delay(500);
      log("slow", i + 1, Math.round(mb()), "MB", await latency());
    }
  }
  await delay(5000);
  log("slow after 5 s", Math.round(mb()), "MB", await latency());
  for (const r of slow) r.s.destroy();
  await delay(3000);
  log("slow gone", Math.round(mb()), "MB", await latency());
  // D: idle connections
  const idle = Array.from({ length: 1500 }, () => {
    const s = connect(Number(port), "127.0.0.1");
    s.on("error", () => undefined);
    return s;
  });
  await delay(1500);
  log("1500 idle", Math.round(mb()), "MB", await latency());
  const more = Array.from({ length: 1000 }, () => {
    const s = connect(Number(port), "127.0.0.1");
    let how = "open";
    s.on("error", (e: NodeJS.ErrnoException) => (how = e.code ?? "error"));
    s.on("close", () => (how = how === "open" ? "closed" : how));
    return { s, how: () => how };
  });
  await delay(1500);
  const fresh = await fetch(`${p.url}/api/system/health`, { headers: { connection: "close" } }).then(
    (r) => r.status,
    (e) => String(e.cause?.code ?? e),
  );
  log(
    "2500 idle",
    Math.round(mb()),
    "MB; new connection:",
    fresh,
    JSON.stringify(
      Object.groupBy(more, (m) => m.how()),
      (_k, v) => (Array.isArray(v) ? v.length : v),
    ),
  );
  const t = performance.now();
  await waitFor(
    "served again",
    async () =>
      (await fetch(`${p.url}/api/system/health`, { headers: { connection: "close" } }).catch(() => undefined))
        ?.status === 200,
    60_000,
  );
  log("served again after", Math.round(performance.now() - t), "ms");
  for (const s of idle) s.destroy();
  for (const m of more) m.s.destroy();
  // E: more streams than allowed
  const hang = await newRun("before\nhang");
  await waitFor("hang", async () => (await call("GET", `/api/agent/runs/${hang}`)).body.run.last_seq > 2);
  const over = Array.from({ length: 1050 }, () => stream(hang, true));
  await delay(4000);
  const heads = Object.groupBy(
    over,
    (o) => (/^HTTP\/1.1 (\d+)/.exec(o.head)?.[1] ?? "none") + (/retry-after: (\d+)/i.exec(o.head)?.[0] ?? ""),
  );
  log(
    "1050 streams",
    Object.entries(heads).map(([k, v]) => [k, v?.length]),
    Math.round(mb()),
    "MB",
    await latency(),
  );
  await call("POST", `/api/agent/runs/${hang}/cancel`);
  for (const o of over) o.s.destroy();
});
