import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LoggedEvent } from "../../src/turnd/protocol/index.ts";
import {
  createVolume,
  describeImage,
  KEY,
  prepareVolume,
  runSandbox,
  shareSandbox,
  startModel,
  startSandbox,
  TOKEN,
  type Sandbox,
} from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { plain } from "../harness/terminal.ts";
import { waitFor } from "../harness/wait-for.ts";

/** For a machine that others load. */
const LIMIT_MS = 300_000;
const ATTACKS = "/opt/programs/attacks";
const PLANT = "/opt/programs/plant-links";
/** So many attacks there are. */
const ATTACK_COUNT = 95;

/** Some of the attacks that only another user is refused. */
const OPEN_TO_ROOT = [
  "front: signal",
  "worker: signal",
  "state: list",
  "session: turns",
  "session: events.jsonl",
  "write in: /usr/local/bin",
  "write in: /run/sandbox",
  "write: /etc/passwd",
  "rights: a capability",
  "root: su",
  "root: setuid",
  "root: chown",
  "root: device",
];
const SERVED =
  "/v1/turns /v1/sessions /v1/executors /v1/executors/cli-a /v1/executors/cli-b /v1/sandbox /v1/shell/sessions /v1/ready /metrics /openapi.json".split(
    " ",
  );

/** Attacks that succeeded, and targets that were not there. */
function readSuccesses(printed: string): string[] {
  return [...printed.matchAll(/^(.+): (SUCCEEDED|NOT FOUND)\r?$/gm)].map(([, name = ""]) => name);
}

/** The value of one of its last lines. */
const reported = (printed: string, what: string): string | undefined =>
  new RegExp(`^${what}: ?(.*?)\\r?$`, "m").exec(printed)?.[1];

/** A command's whole output, however its CLI calls it. */
function printedBy(events: readonly LoggedEvent[]): string {
  return events.map((event) => (event.type === "tool.ended" ? (event.data.output?.text ?? "") : "")).join("\n");
}

describeImage("a process of uid 1000", { timeout: LIMIT_MS }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());
  const sandbox = shareSandbox(() => ({
    env: started.env,
    files: { [ATTACKS]: join(REPOSITORY, "test/programs/attacks") },
  }));
  /** A turn of another session, ended; its files are there to be read. */
  let other: { session_id: string; turn_id: string };
  beforeAll(async () => {
    other = await sandbox().run({ executor: "cli-b", input: "@@text:A secret.@@" });
  });

  function expectRefused(printed: string): void {
    expect(readSuccesses(printed)).toEqual([]);
    expect(reported(printed, "attacks refused")).toBe(String(ATTACK_COUNT));
    expect(reported(printed, "arguments that hold a secret")).toBe("0");
    expect(reported(printed, "environments that hold the token")).toBe("");
    expect(reported(printed, "files that hold the token")).toBe("");
  }

  test.each([
    { executor: "cli-a", holders: "" },
    // It takes its key from a variable, and passes it to no command.
    { executor: "cli-b", holders: "codex" },
  ])("run by $executor can do none of it", async ({ executor, holders }) => {
    const input = `@@command:${ATTACKS} KILL ${other.session_id} ${other.turn_id}@@`;
    const { turn_id, status } = await sandbox().run({ executor, input });
    expect(status).toBe("completed");
    const printed = printedBy(await sandbox().events(turn_id));
    expectRefused(printed);
    expect(reported(printed, "environments that hold a key")).toBe(holders);
  });

  test("run in a terminal can do none of it", async () => {
    const { session_id } = (await sandbox().request("POST", "/v1/shell/sessions", {})).body;
    const text = `${ATTACKS} KILL ${other.session_id} ${other.turn_id}; echo ever''ything\r`;
    await sandbox().request("POST", `/v1/shell/sessions/${session_id}/input`, { text });
    const printed = await waitFor(
      "the end of the attacks",
      async () => {
        const { data } = (await sandbox().request("GET", `/v1/shell/sessions/${session_id}/output?wait_ms=1000`)).body;
        return plain(data).includes("everything\n") && plain(data);
      },
      LIMIT_MS,
    );
    expectRefused(printed);
    expect(reported(printed, "environments that hold a key")).toBe("");
    await sandbox().request("DELETE", `/v1/shell/sessions/${session_id}`);
  });

  test("is what keeps it from that: to root the same attacks succeed", async () => {
    const { output } = await sandbox().exec([ATTACKS, "0", other.session_id, other.turn_id]);
    const successes = readSuccesses(output);
    for (const name of [
      ...["turnd", "supervisor", "tini"].flatMap((target) =>
        ["environment", "memory", "descriptors", "root", "trace", "signal"].map((what) => `${target}: ${what}`),
      ),
      ...OPEN_TO_ROOT,
    ]) {
      expect(successes).toContain(name);
    }
  });

  test("that kills all it may kills its own turn and nothing else", async () => {
    const running = await sandbox().exec(["pgrep", "-f", "tini|turnd-supervise|main.mjs|nginx"]);
    const { status } = await sandbox().run({ executor: "cli-b", input: "@@command:kill -KILL -1@@" });
    expect(status).toBe("failed");
    expect((await sandbox().exec(["pgrep", "-f", "tini|turnd-supervise|main.mjs|nginx"])).output).toBe(running.output);
    expect((await sandbox().exec(["pgrep", "-u", "1000"])).output).toBe("");
  });

  test("leaves no secret in what is served, logged, recorded or seen from outside", async () => {
    const { sessions } = (await sandbox().request("GET", "/v1/sessions")).body;
    const { turns } = (await sandbox().request("GET", "/v1/turns")).body;
    expect(turns.length).toBeGreaterThanOrEqual(4);
    const paths = [
      ...SERVED,
      ...sessions.map(({ session_id }: { session_id: string }) => `/v1/sessions/${session_id}`),
      ...turns.flatMap(({ turn_id }: { turn_id: string }) =>
        ["", "/events", "/result", "/recording"].map((end) => `/v1/turns/${turn_id}${end}`),
      ),
    ];
    for (const path of paths) {
      const { status, text } = await sandbox().request("GET", path);
      expect([path, status]).toEqual([path, 200]);
      expect([path, text.includes(KEY), text.includes(TOKEN)]).toEqual([path, false, false]);
    }
    const { stdout } = await execa("docker", ["inspect", sandbox().container.getId()]);
    const [{ Config, ...rest }] = JSON.parse(stdout);
    // The environment is where they were given; a user of the engine has them already.
    const { Env: env, ...config } = Config;
    expect(env).toContain(`TURND_TOKEN=${TOKEN}`);
    for (const text of [JSON.stringify({ ...rest, config }), await sandbox().log()]) {
      expect(text).not.toContain(KEY);
      expect(text).not.toContain(TOKEN);
    }
  });
});

describeImage("links that uid 1000 has planted", { timeout: LIMIT_MS }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());

  test("do not redirect root: not in a turn, not with attachments, not at the next start", async () => {
    const volumes: Record<string, string> = {};
    for (const path of ["/var/lib/turnd", "/home/sandbox", "/workspace", "/srv/target"]) {
      volumes[path] = await createVolume();
    }
    const start = (): Promise<Sandbox> =>
      startSandbox({ env: started.env, volumes, files: { [PLANT]: join(REPOSITORY, "test/programs/plant-links") } });
    await prepareVolume(
      volumes["/srv/target"] ?? "",
      "echo precious >/volume/file; mkdir /volume/tmp; echo precious >/volume/tmp/file; chmod -R go-w /volume",
    );
    let sandbox = await start();
    // Content, owner, mode and time of change: nothing root does to them would go unseen.
    const look = async () =>
      (
        await sandbox.exec([
          "sh",
          "-c",
          "find /srv/target -printf '%p %u %g %m %s %C@ %T@\\n'; cat /srv/target/file /srv/target/tmp/file; stat -c '%n %u %a' /etc /etc/passwd /usr/local/bin /opt/turnd /var/lib/turnd",
        ])
      ).output;
    const before = await look();
    const image =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const planted = await Promise.all(
      ["cli-a", "cli-b"].map(async (executor) => {
        const { session_id } = await sandbox.run({ executor, input: "@@text@@" });
        const home = `/var/lib/turnd/sessions/${session_id}/home`;
        const result = await sandbox.run({ session_id, input: `@@command:${PLANT} ${home} /srv/target@@` });
        expect(printedBy(await sandbox.events(result.turn_id))).toMatch(/ -> \/srv\/target[^]*planted/);
        return session_id;
      }),
    );
    const next = () =>
      Promise.all(
        planted.map((session_id) =>
          sandbox.run({
            session_id,
            input: [
              { type: "text", text: "@@text:Again.@@" },
              { type: "image", data_url: image },
            ],
          }),
        ),
      );
    // Whether such a turn can run is not the question, but that it ends and what it left alone.
    for (const { status } of await next()) expect(["completed", "failed"]).toContain(status);
    expect(await look()).toBe(before);
    await sandbox.stop();
    await sandbox.remove();
    // What the configurations cannot be written to is reported, is not followed, and keeps no container from starting.
    sandbox = await start();
    expect(await sandbox.log()).toMatch(
      /home\/sandbox cannot be prepared[^]*warning: the CLIs' configurations in \/home\/sandbox are not/,
    );
    for (const { status } of await next()) expect(["completed", "failed"]).toContain(status);
    expect(await look()).toBe(before);
    await sandbox.remove();
  });
});

describeImage("a directory that uid 1000 has closed", () => {
  describe.each(["/home/sandbox", "/workspace"])("%s", (directory) => {
    test("is opened again, and what is root's in it stays root's", async () => {
      const volume = await createVolume();
      await prepareVolume(
        volume,
        "mkdir -p /volume/own; touch /volume/roots /volume/own/roots; chown 1000:1000 /volume /volume/own; chmod 000 /volume",
      );
      const command = ["stat", "-c", "%u %n", directory, `${directory}/roots`, `${directory}/own/roots`];
      const { exitCode, stdout, stderr } = await runSandbox({ volumes: { [directory]: volume }, command });
      expect(exitCode, stderr).toBe(0);
      expect(stderr).not.toContain("giving");
      expect(stdout).toBe(`1000 ${directory}\n0 ${directory}/roots\n0 ${directory}/own/roots`);
    });
  });
});
