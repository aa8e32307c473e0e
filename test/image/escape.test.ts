import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeImage, shareSandbox, startModel, type Sandbox } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const PROGRAMS = "/opt/programs";
const ESCAPEES = { [`${PROGRAMS}/escapees`]: join(REPOSITORY, "test/programs/escapees") };
/** Of each round; the respawner's generations come on top. */
const LEAST_ESCAPEES = 7;
const ROUNDS = 20;
const AT_ONCE = 4;
/** For a machine that others load. */
const LIMIT_MS = 300_000;

let marks = 0;
const newMark = (): string => String(7_000_000 + marks++);

/** Living processes that name one of these texts in their arguments. */
async function naming(sandbox: Sandbox, ...texts: string[]): Promise<string[]> {
  const { output } = await sandbox.exec(["ps", "-ww", "-eo", "stat=,user:16=,pid=,args="]);
  const lines = output.split("\n").filter((line) => !line.startsWith("Z"));
  return lines.filter((line) => texts.some((text) => line.includes(text)));
}

/** Waits until a turn has started the processes that try to escape. */
async function untilLoose(sandbox: Sandbox, mark: string): Promise<void> {
  // The brackets keep the pattern from matching this very command.
  const pattern = mark.replace(/^7/, "[7]");
  await sandbox.exec(["sh", "-c", `until [ "$(pgrep -fc '${pattern}')" -ge ${LEAST_ESCAPEES} ]; do sleep 0.2; done`]);
}

describeImage("processes that try to escape their turn", { timeout: LIMIT_MS }, () => {
  describe("let loose by a CLI that ignores signals", () => {
    const sandbox = shareSandbox(() => ({
      env: {
        TURND_MAX_TURNS: String(AT_ONCE),
        TURND_CANCEL_GRACE_MS: "100",
        CLI_B_NAME: "fake-cli-b",
        CLI_B_BIN: `${PROGRAMS}/fake-cli-b`,
        CLI_B_API_KEY: "FAKE-KEY-FOR-TESTS",
        CLI_B_MODEL: "model-x",
        CLI_B_BASE_URL: "http://127.0.0.1:9/v1",
      },
      files: { ...ESCAPEES, [`${PROGRAMS}/fake-cli-b`]: join(REPOSITORY, "test/programs/fake-cli-b") },
    }));

    async function startEscapees() {
      const mark = newMark();
      const input = `shell ${PROGRAMS}/escapees ${mark}\nready\nignore-signals\nhang`;
      const { turn_id } = await sandbox().admit({ executor: "cli-b", input });
      // What it says is ready when they run.
      for await (const { event } of sandbox().follow(turn_id)) if (event === "message") break;
      return { mark, cancel: () => sandbox().request("POST", `/v1/turns/${turn_id}/cancel`) };
    }

    test(`${ROUNDS} rounds of cancelling leave no process`, async () => {
      const latencies: number[] = [];
      for (let rounds = 0; rounds < ROUNDS; rounds += AT_ONCE) {
        const started = await Promise.all(Array.from({ length: AT_ONCE }, startEscapees));
        const marksOfRound = started.map(({ mark }) => mark);
        expect((await naming(sandbox(), ...marksOfRound)).length).toBeGreaterThanOrEqual(AT_ONCE * LEAST_ESCAPEES);
        await Promise.all(
          started.map(async ({ cancel }) => {
            const startedAt = performance.now();
            expect((await cancel()).body).toMatchObject({ status: "cancelled" });
            latencies.push(performance.now() - startedAt);
          }),
        );
        expect(await naming(sandbox(), "sandbox ", ...marksOfRound)).toEqual([]);
      }
      latencies.sort((left, right) => left - right);
      const [p50, p95] = [0.5, 0.95].map((part) => Math.round(latencies[Math.ceil(part * ROUNDS) - 1] ?? Number.NaN));
      process.stdout.write(
        `cancelling turns with escaped processes, ${AT_ONCE} at once, in the image: p50 ${p50} ms, p95 ${p95} ms\n`,
      );
    });

    test("a turn that ends by itself leaves none, and another session's processes are not touched", async () => {
      const other = await startEscapees();
      const mark = newMark();
      const input = `shell ${PROGRAMS}/escapees ${mark}\nready`;
      expect(await sandbox().run({ executor: "cli-b", input })).toMatchObject({ status: "completed" });
      expect(await naming(sandbox(), mark)).toEqual([]);
      expect((await naming(sandbox(), other.mark)).length).toBeGreaterThanOrEqual(LEAST_ESCAPEES);
      await other.cancel();
      expect(await naming(sandbox(), "sandbox ", other.mark)).toEqual([]);
    });

    test("docker stop ends them with the turns and shells that let them loose, and exits with 0", async () => {
      await startEscapees();
      const shell = await sandbox().request("POST", "/v1/shell/sessions", {});
      const mark = newMark();
      const text = `${PROGRAMS}/escapees ${mark}\r`;
      await sandbox().request("POST", `/v1/shell/sessions/${shell.body.session_id}/input`, { text });
      await untilLoose(sandbox(), mark);
      // The engine kills what is not gone by then, and the exit code is another.
      expect(await sandbox().stop({ graceSeconds: 5 })).toBe(0);
    });
  });

  describe("let loose by a tool", () => {
    let started: Awaited<ReturnType<typeof startModel>>;
    beforeAll(async () => {
      started = await startModel();
    });
    afterAll(() => started.model.close());
    const sandbox = shareSandbox(() => ({ env: started.env, files: ESCAPEES }));

    test.each(["cli-a", "cli-b"])("of %s: neither a cancelled turn nor one that ends leaves any", async (executor) => {
      const [cancelled, ended] = [newMark(), newMark()];
      const { turn_id, session_id } = await sandbox().admit({
        executor,
        input: `@@command:${PROGRAMS}/escapees ${cancelled} >/dev/null 2>&1; sleep 300@@`,
      });
      await untilLoose(sandbox(), cancelled);
      const answer = await sandbox().request("POST", `/v1/turns/${turn_id}/cancel`);
      expect(answer.body).toMatchObject({ status: "cancelled" });
      expect(await naming(sandbox(), "sandbox ", cancelled)).toEqual([]);

      const input = `@@command:${PROGRAMS}/escapees ${ended} >/dev/null 2>&1; echo let loose@@`;
      const result = await sandbox().run({ session_id, input });
      expect(result).toMatchObject({ status: "completed", output: expect.stringContaining("let loose") });
      expect(await naming(sandbox(), "sandbox ", ended)).toEqual([]);
    });
  });
});
