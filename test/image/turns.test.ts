import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeImage, shareSandbox, startModel } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";

/** The least capabilities, found by leaving one out at a time. */
const LEAST = ["CHOWN", "DAC_READ_SEARCH", "KILL", "SETGID", "SETUID", "SETPCAP"];

describeImage("turns in the image", () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());

  describe.each([
    { title: "as it is", options: {} },
    {
      title: "with a read-only root and the least capabilities",
      options: {
        hasReadOnlyRoot: true,
        capabilities: LEAST,
        tmpfs: { "/run": "", "/tmp": "", "/home/sandbox": "", "/workspace": "", "/var/lib/turnd": "exec" },
      },
    },
  ])("$title", ({ options }) => {
    const sandbox = shareSandbox(() => ({ ...options, env: started.env }));

    test.each(["cli-a", "cli-b"])("%s runs a command and completes", async (executor) => {
      const { failure, output } = await sandbox().run({ executor, input: "@@tool-ok:a-word@@" });
      expect({ failure, output }).toEqual({ failure: undefined, output: "The command gave: a-word" });
    });

    test("a plugin of the workspace does not run", async () => {
      const plugin = 'require("fs").writeFileSync("/workspace/ran", ""); export const P = async () => ({});';
      const planted = "mkdir -p /workspace/.opencode/plugin && cat >/workspace/.opencode/plugin/p.js";
      const asUser = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];
      const { exitCode } = await sandbox().exec([...asUser, "sh", "-c", `printf '%s' '${plugin}' | (${planted})`]);
      expect(exitCode).toBe(0);
      const { status } = await sandbox().run({ executor: "cli-a", input: "@@text@@" });
      expect(status).toBe("completed");
      expect((await sandbox().exec(["ls", "-A", "/workspace"])).output.trim()).toBe(".opencode");
    });

    test("a command runs as uid 1000 with no group, no capability and no way to regain one", async () => {
      const { turn_id } = await sandbox().admit({ executor: "cli-b", input: "@@sleep:300@@" });
      const pid = await waitFor("the command", async () => {
        const { output, exitCode } = await sandbox().exec(["pgrep", "-o", "-f", "-x", "sleep 300"]);
        return exitCode === 0 ? output.trim() : undefined;
      });
      const { output } = await sandbox().exec(["cat", `/proc/${pid}/status`]);
      for (const line of [
        /^Uid:(\t1000){4}$/m,
        /^Groups:\s*$/m,
        /^NoNewPrivs:\t1$/m,
        /^CapBnd:\t0+$/m,
        /^CapEff:\t0+$/m,
      ]) {
        expect(output).toMatch(line);
      }
      const cancelled = await sandbox().request("POST", `/v1/turns/${turn_id}/cancel`);
      expect(cancelled.body).toMatchObject({ status: "cancelled" });
      expect((await sandbox().exec(["pgrep", "-u", "1000"])).output).toBe("");
    });
  });

  describe("when a process is killed", () => {
    const sandbox = shareSandbox(() => ({ env: started.env }));

    test("turnd is started again, the turn that ran goes on, and the log has the reason", async () => {
      const { turn_id } = await sandbox().admit({ executor: "cli-b", input: "@@many:3:2@@" });
      await waitFor("the first tool", async () =>
        (await sandbox().events(turn_id)).some(({ type }) => type === "tool.started"),
      );
      await sandbox().exec(["pkill", "-KILL", "-f", "main.mjs"]);
      const result = await waitFor("the end of the turn", async () => {
        const answer = await sandbox().request("GET", `/v1/turns/${turn_id}/result`);
        return answer.status === 200 ? answer.body : undefined;
      });
      expect(result).toMatchObject({ status: "completed", counts: { tools: 3 } });
      const events = await sandbox().events(turn_id);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(await sandbox().log()).toContain("turnd ended by itself (exit code 137, SIGKILL): starting it again");
    });

    test.each(["master", "worker"])("the front is there again after its %s was killed", async (part) => {
      await sandbox().exec(["pkill", "-KILL", "-f", `nginx: ${part}`]);
      await waitFor("the front", async () => {
        // Refused connections until it listens again.
        const answer = await sandbox()
          .request("GET", "/v1/ready")
          .catch(() => undefined);
        return answer?.status === 200;
      });
      expect((await sandbox().exec(["pgrep", "-c", "nginx"])).output.trim()).toBe("2");
    });

    test("docker stop ends running turns and everything else in time, with exit code 0", async () => {
      const { turn_id } = await sandbox().admit({ executor: "cli-b", input: "@@sleep:300@@" });
      await waitFor(
        "the command",
        async () => (await sandbox().exec(["pgrep", "-f", "-x", "sleep 300"])).exitCode === 0,
      );
      const frames = (async () => {
        const seen: string[] = [];
        for await (const frame of sandbox().follow(turn_id)) seen.push(frame.event ?? "");
        return seen;
      })();
      // The engine kills what is not gone by then, and the exit code is another.
      expect(await sandbox().stop({ graceSeconds: 5 })).toBe(0);
      expect((await frames).at(-1)).toBe("end");
      expect(await sandbox().log()).toMatch(/"status":"failed",.*"code":"daemon_stopped"/);
    });
  });
});

describeImage("what keeps dying", () => {
  const sandbox = shareSandbox();

  test("ends the container with its own exit code, after a few restarts", async () => {
    // The brackets keep the pattern from matching this very command.
    const killer = "while true; do pkill -KILL -f '[m]ain.mjs'; sleep 0.05; done";
    // The container goes away under this command, which is what is waited for.
    await sandbox()
      .exec(["sh", "-c", killer])
      .catch(() => undefined);
    expect(await sandbox().exitCode()).toBe(17);
    expect(await sandbox().log()).toContain("giving up after 5 restarts in a minute");
  });
});
