import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { describeImage, shareSandbox, startModel, TOKEN, type Sandbox } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** For a machine that others load. */
const LIMIT_MS = 300_000;
/** An answer that has to come while all this goes on. */
const ANSWER_MS = 30_000;
const PROGRAM = "/opt/programs/take-connections";
/** Of each port; turnd takes 2000, the front less from inside. */
const CONNECTIONS = 3_000;

/** Lets the CLIs' user take connections, and waits until it has had time to take all that it can get. */
async function attack(sandbox: Sandbox, kind: string): Promise<void> {
  await sandbox.exec(["sh", "-c", `${PROGRAM} ${kind} ${CONNECTIONS} 8091 6080 8080 >/tmp/taken 2>&1 &`], "1000");
  const rounds = async () => (await sandbox.exec(["cat", "/tmp/taken"])).output.match(/^held /gm)?.length ?? 0;
  await waitFor("the attack", async () => (await rounds()) > 12, LIMIT_MS);
}

describeImage("while a tool takes all connections it can get", { timeout: LIMIT_MS }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());

  describe.each([
    { name: "with a token", token: TOKEN },
    { name: "without a token", token: "" },
  ])("$name", ({ token }) => {
    const sandbox = shareSandbox(() => ({
      env: { ...started.env, TURND_TOKEN: token, TURND_MAX_STREAMS: "1000" },
      files: { [PROGRAM]: join(REPOSITORY, "test/programs/take-connections") },
    }));
    beforeAll(async () => {
      const session = { executor: "cli-b", session_id: "attacked-session" };
      const answer = await sandbox().request("POST", "/v1/sessions", session);
      if (answer.status !== 201) throw new Error(answer.text);
    });

    describe.each(["idle", "half-headers", "half-body", "requests", "streams"])("(%s)", (kind) => {
      const health = kind === "half-headers" ? [kind] : [];
      const asked = { health, within: token === "" ? [] : health };
      const turnIds: string[] = [];
      beforeAll(async () => {
        for (let count = 0; count < 1 + asked.within.length; count += 1) {
          turnIds.push((await sandbox().admit({ executor: "cli-b", input: "@@sleep:300@@" })).turn_id);
        }
        await attack(sandbox(), kind);
      }, LIMIT_MS);
      afterAll(async () => {
        await sandbox().exec(["pkill", "-KILL", "-f", "[t]ake-connections"]);
        for (const id of turnIds) await sandbox().request("POST", `/v1/turns/${id}/cancel`);
      });

      test("a turn is followed and cancelled, and a terminal opened, through the front", async () => {
        const [turnId = ""] = turnIds;
        const signal = AbortSignal.timeout(ANSWER_MS);
        for await (const { event } of sandbox().follow(turnId, { signal })) if (event === "tool.started") break;
        const page = await fetch(`${sandbox().url}/terminal`, { signal });
        expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<title>Terminal</title>")]);
        const link = (await sandbox().request("GET", "/v1/shell/terminal-url")).body.data;
        const session_id = new URL(link).searchParams.get("session_id");
        expect((await sandbox().request("POST", "/terminal/tickets", { session_id })).status).toBe(201);

        const askedAt = performance.now();
        const cancelled = await sandbox().request("POST", `/v1/turns/${turnId}/cancel`);
        expect([cancelled.status, cancelled.body]).toEqual([200, expect.objectContaining({ status: "cancelled" })]);
        expect(performance.now() - askedAt).toBeLessThan(ANSWER_MS);
      });

      test.each(asked.within)("a client with the token is answered on turnd's own port too (%s)", async () => {
        const url = `http://127.0.0.1:8091/v1/turns/${turnIds[1]}/cancel`;
        const curl = ["curl", "-sS", "--max-time", "30", "--retry", "5", "--retry-all-errors", "-X", "POST", url];
        const { output } = await sandbox().exec([...curl, "-H", `Authorization: Bearer ${TOKEN}`]);
        expect(output).toContain('"status":"cancelled"');
      });

      test.each(asked.health)("the container's own health check passes (%s)", async () => {
        const format = "{{json .Config.Healthcheck.Test}}";
        const { stdout } = await execa("docker", ["image", "inspect", "--format", format, inject("image").tag]);
        const [, ...command] = z.array(z.string()).parse(JSON.parse(stdout));
        for (let count = 0; count < 3; count++) expect((await sandbox().exec(command)).exitCode).toBe(0);
      });
    });
  });
});
