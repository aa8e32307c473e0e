import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TurnAdmission } from "../../src/turnd/protocol/index.ts";
import { createVolume, describeImage, startModel, startSandbox, type Sandbox } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";

const EXECUTORS = ["cli-a", "cli-b"] as const;
/** Both CLIs at once on a machine that others load. */
const LIMIT_MS = 300_000;

describeImage("a sandbox on volumes", { timeout: LIMIT_MS }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  let volumes: Record<string, string>;
  let sandbox: Sandbox;
  /** A container of its own home, on the volumes of the one before. */
  const startNext = async (): Promise<void> => {
    sandbox = await startSandbox({ volumes, env: started.env });
  };
  beforeAll(async () => {
    started = await startModel();
    volumes = { "/var/lib/turnd": await createVolume(), "/workspace": await createVolume() };
    await startNext();
  });
  afterAll(async () => {
    await sandbox.remove();
    await started.model.close();
  });

  /** Starts a turn of each CLI whose one command waits for a file in the workspace, and resolves when both wait. */
  async function startWaiting(file: string): Promise<TurnAdmission[]> {
    const turns = await Promise.all(
      EXECUTORS.map((executor) =>
        sandbox.admit({
          executor,
          input: `@@command:echo run >>${file}-${executor}; until [ -e ${file} ]; do sleep 0.1; done; echo released@@`,
        }),
      ),
    );
    await sandbox.exec([
      "sh",
      "-c",
      `until [ "$(cat ${file}-cli-* | wc -l)" = ${EXECUTORS.length} ]; do sleep 0.2; done`,
    ]);
    return turns;
  }
  /** Each word is a time a command was run. */
  async function ranBy(file: string): Promise<string[]> {
    const { output } = await sandbox.exec(["sh", "-c", `cat /workspace/${file}-cli-* 2>/dev/null`]);
    return output.split("\n").filter((line) => line === "run");
  }
  const eventsText = async (turnId: string): Promise<string> =>
    (await sandbox.request("GET", `/v1/turns/${turnId}/events`)).text;
  /** The end of a turn, across times without an answer. */
  const resultOf = (turnId: string) =>
    waitFor(
      "the end of the turn",
      async () => {
        const answer = await sandbox.request("GET", `/v1/turns/${turnId}/result`).catch(() => undefined);
        return answer?.status === 200 ? answer.body : undefined;
      },
      LIMIT_MS,
    );
  const isReady = async () => (await sandbox.request("GET", "/v1/ready").catch(() => undefined))?.status === 200;

  test("goes on in a new container: both native sessions, old events, and requests that are not run again", async () => {
    const bodies = EXECUTORS.map((executor) => ({
      executor,
      request_id: `request-${executor}`,
      input: `My word is ${executor}. @@text:Noted.@@`,
    }));
    const firsts = await Promise.all(bodies.map((body) => sandbox.run(body)));
    const texts = await Promise.all(firsts.map(({ turn_id }) => eventsText(turn_id)));
    expect(await sandbox.stop()).toBe(0);
    await sandbox.remove();
    await startNext();

    const seconds = await Promise.all(
      firsts.map(({ session_id }) => sandbox.run({ session_id, input: "Second. @@recall@@" })),
    );
    for (const [index, body] of bodies.entries()) {
      const [first, second] = [firsts[index], seconds[index]];
      expect(first).toMatchObject({ status: "completed", resumed: false });
      expect(second).toMatchObject({
        status: "completed",
        resumed: true,
        degraded: false,
        native_session_id: first?.native_session_id,
      });
      expect(JSON.parse(second?.output ?? "").said).toEqual([body.input]);

      expect(await eventsText(first?.turn_id ?? "")).toBe(texts[index]);
      const repeated = await sandbox.request("POST", "/v1/turns", body);
      expect([repeated.status, repeated.body.turn_id]).toEqual([200, first?.turn_id]);
      const other = await sandbox.request("POST", "/v1/turns", { ...body, input: "Another." });
      expect([other.status, other.body.detail.code]).toEqual([409, "request_id_conflict"]);
    }
  });

  test("loses nothing of a turn in whose middle turnd and then the front are killed", async () => {
    const turns = await startWaiting("go");
    await sandbox.exec(["pkill", "-KILL", "-f", "main.mjs"]);
    await waitFor("turnd", isReady);
    await sandbox.exec(["pkill", "-KILL", "nginx"]);
    await waitFor("the front", isReady);
    for (const { turn_id } of turns) {
      expect((await sandbox.request("GET", `/v1/turns/${turn_id}`)).body).toMatchObject({ status: "running" });
    }
    await sandbox.exec(["touch", "/workspace/go"]);

    for (const { turn_id } of turns) {
      const result = await resultOf(turn_id);
      const lines = (await eventsText(turn_id)).trimEnd().split("\n");
      const events = lines.map((line) => JSON.parse(line));
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const digest = createHash("sha256").update(`${lines.slice(0, -1).join("\n")}\n`);
      expect(result).toMatchObject({
        status: "completed",
        output: expect.stringContaining("released"),
        exit: { code: 0, signal: null },
        digest: digest.digest("hex"),
      });
      for (const type of ["turn.started", "session.bound", "message", "turn.ended"]) {
        expect([type, events.filter((event) => event.type === type).length]).toEqual([type, 1]);
      }
    }
    expect(await ranBy("go")).toHaveLength(EXECUTORS.length);
  });

  test("comes back when turnd and the front are killed at once, twice, and a turn goes on", async () => {
    // The restarts of a minute are counted.
    await sandbox.stop();
    await sandbox.remove();
    await startNext();
    const turns = await startWaiting("both");
    const pids = async () => (await sandbox.exec(["pgrep", "-f", "main.mjs|^nginx: master"])).output.trim().split("\n");
    for (const round of [1, 2]) {
      const killed = await pids();
      expect(killed).toHaveLength(2);
      await sandbox.exec(["sh", "-c", `kill -KILL ${killed.join(" ")}`]);
      await waitFor(`both, round ${round}`, async () => {
        const now = await pids();
        return now.length === 2 && !now.some((pid) => killed.includes(pid)) && (await isReady());
      });
      for (const { turn_id } of turns) {
        expect((await sandbox.request("GET", `/v1/turns/${turn_id}`)).body).toMatchObject({ status: "running" });
      }
    }
    await sandbox.exec(["touch", "/workspace/both"]);
    for (const { turn_id } of turns) expect(await resultOf(turn_id)).toMatchObject({ status: "completed" });
    expect(await ranBy("both")).toHaveLength(EXECUTORS.length);
  });

  test("reports a turn that ended with its container, does not run it again, and goes on in its session", async () => {
    const turns = await startWaiting("never");
    // The engine kills all there is, at once.
    await sandbox.remove();
    await startNext();
    const resumed = await Promise.all(
      turns.map(async ({ turn_id, session_id }) => {
        expect(await resultOf(turn_id)).toMatchObject({ status: "failed", failure: { code: "daemon_stopped" } });
        return sandbox.run({ session_id, input: "And now? @@recall@@" });
      }),
    );
    for (const result of resumed) {
      expect(result).toMatchObject({ status: "completed", resumed: true, degraded: false });
      expect(JSON.parse(result.output ?? "").said).toEqual([expect.stringContaining("until [ -e never ]")]);
    }
    expect(await ranBy("never")).toHaveLength(EXECUTORS.length);
  });
});
