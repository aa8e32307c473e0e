import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../harness/client.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { PASSWORD } from "../harness/auth.ts";
import { ENGINES, freshDatabase } from "../harness/storage.ts";

const PROGRAM = fileURLToPath(new URL("../../programs/dying-service.ts", import.meta.url));
const STEPS = ["claimed", "sandbox", "turn", "following", "ended"] as const;
const LIMIT_MS = 180_000;

/** A service in a process of its own. */
async function start(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const [url] = await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    exited.then(([code, signal]) => Promise.reject(new Error(`the service ended: ${code} ${signal}`))),
  ]);
  return { request: createClient(String(url)).request, exited };
}

describe.each(ENGINES)("%s", (kind) => {
  // On PostgreSQL each of them waits for a lease.
  test.each(kind === "pglite" ? STEPS : (["turn", "ended"] as const))(
    "a service killed at the step %s goes on: one turn, gap-free events, one end",
    { timeout: LIMIT_MS },
    async (step) => {
      const daemon = await fakeDaemon();
      const database = await freshDatabase(kind);
      const env = {
        SERVICE_DATA_DIR: temporaryDirectory(onTestFinished),
        SERVICE_PORT: "0",
        SERVICE_SANDBOX: "static",
        SERVICE_TURND_URLS: daemon.url,
        SERVICE_LEASE_MS: "10000",
        SERVICE_JWT_SECRET: "test-jwt-secret-0123456789abcdefghij",
        SERVICE_KEY_SECRET: "kit-key-secret-0123456789abcdefgh",
        SERVICE_SANDBOX_SECRET: "test-sandbox-secret-0123456789abcdef",
        ...(database.kind === "postgres" ? { DATABASE_URL: database.url } : {}),
      };
      const first = await start({ ...env, DIE_AT: step });
      const { body: login } = await first.request("POST", "/api/auth/initialize", {
        username: "root",
        password: PASSWORD,
      });
      const as = { authorization: `Bearer ${login.access_token}` };
      const { body: thread } = await first.request("POST", "/api/chat/thread", { agent_id: "cli-b" }, as);
      const submission = {
        agent_slug: "cli-b",
        thread_id: thread.id,
        query: "tool ls\nsleep 0.2\nDone.",
        meta: { request_id: "request-0001" },
      };
      // Killed before it answers, perhaps; what was asked is asked again, as a client does.
      await first.request("POST", "/api/agent/runs", submission, as).catch(() => undefined);
      expect(await first.exited).toEqual([null, "SIGKILL"]);

      const second = await start(env);
      const { body: again } = await second.request("POST", "/api/agent/runs", submission, as);
      const result = await waitFor(
        "the run's end",
        async () => {
          const { body } = await second.request("GET", `/api/agent/runs/${again.run_id}/result`, undefined, as);
          return body.final === true ? body : undefined;
        },
        LIMIT_MS,
      );
      expect(result).toMatchObject({ status: "completed", output: "Done.", request_id: "request-0001" });
      const { body: page } = await second.request(
        "GET",
        `/api/agent/runs/${again.run_id}/events?format=json&limit=500`,
        undefined,
        as,
      );
      const events: { seq: number; event: string; payload: { name?: string } }[] = page.events;
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(events.filter(({ event }) => event === "end")).toEqual([events.at(-1)]);
      expect(events.filter(({ payload }) => payload.name === "svc.turn")).toHaveLength(1);
      const { body: sessions } = await createClient(daemon.url).request("GET", "/v1/sessions");
      expect(sessions.sessions.map(({ turns }: { turns: string[] }) => turns.length)).toEqual([1]);
    },
  );
});
