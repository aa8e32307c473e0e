import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Only root can mount. */
const IS_ROOT = process.getuid?.() === 0;

/** A daemon whose state lies on a small disk of its own, and what fills that disk up to some bytes. */
async function onSmallDisk(env: Record<string, string> = {}) {
  const directory = temporaryDirectory(onTestFinished);
  const state = join(directory, "state");
  mkdirSync(state, { mode: 0o711 });
  await execa("mount", ["-t", "tmpfs", "-o", "size=16m,mode=711", "turnd-test", state]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", state])));
  const start = () => fakeDaemonIn(directory, { TURND_MIN_FREE_BYTES: "0", ...env });
  const filler = join(state, "filler");
  const fill = (leftBytes: number): void => {
    const { bavail, bsize } = statfsSync(state);
    try {
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes)));
    } catch (error) {
      // turnd has written meanwhile: the disk is as full as can be.
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  };
  return { state, start, fill, empty: () => rmSync(filler), turnd: await start() };
}

const readiness = async (turnd: Awaited<ReturnType<typeof fakeDaemonIn>>) => {
  const { body } = await turnd.request("GET", "/v1/ready");
  return { ready: body.ready, state: body.checks.find(({ name }: { name: string }) => name === "state") };
};

test.runIf(IS_ROOT)(
  "a full disk is freed over HTTP: readiness says that it is full, and deleting sessions makes room",
  async () => {
    const { turnd, fill, state } = await onSmallDisk();
    const request_id = "request-of-session-1";
    const large = { executor: "cli-b", session_id: "session-1", input: "bytes 4000000", request_id };
    await turnd.run(large);
    await turnd.run({ executor: "cli-b", session_id: "session-2", input: "hello" });
    expect((await readiness(turnd)).ready).toBe(true);
    fill(0);
    const refused = await turnd.request("POST", "/v1/turns", { session_id: "session-1", input: "more" });
    expect([refused.status, refused.body.detail.code]).toEqual([507, "storage_full"]);
    // An answer is given again for a moment.
    const shown = await waitFor("the readiness to show it", async () => {
      const found = await readiness(turnd);
      return found.ready ? undefined : found;
    });
    expect(shown.state).toMatchObject({ ok: false, message: expect.stringContaining("ENOSPC") });
    expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
    expect(readdirSync(join(state, "sessions"))).toEqual(["session-2"]);
    await waitFor("readiness", async () => (await readiness(turnd)).ready);
    expect((await turnd.run({ session_id: "session-2", input: "hello" })).status).toBe("completed");
    expect((await turnd.request("POST", "/v1/turns", large)).body.detail.code).toBe("session_not_found");
  },
);

test.runIf(IS_ROOT)("a shell that a full disk has no room for is refused as storage_full", async () => {
  const { turnd, fill, empty } = await onSmallDisk();
  fill(0);
  const refused = await turnd.request("POST", "/v1/shell/sessions", {});
  expect([refused.status, refused.body.detail.code]).toEqual([507, "storage_full"]);
  empty();
  expect((await turnd.request("POST", "/v1/shell/sessions", {})).status).toBe(201);
});

test.runIf(IS_ROOT)("a daemon starts on a full disk, and its sessions can be deleted", async () => {
  const { turnd, fill, start } = await onSmallDisk();
  const request_id = "request-of-session-1";
  await turnd.run({ executor: "cli-b", session_id: "session-1", input: "bytes 1000000", request_id });
  await turnd.stop();
  fill(0);
  const second = await start();
  expect((await second.request("GET", "/v1/health")).status).toBe(200);
  expect((await second.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  expect((await second.request("GET", `/v1/requests/${request_id}`)).body.detail.code).toBe("session_not_found");
  await second.stop();
  const third = await start();
  expect((await third.request("GET", `/v1/requests/${request_id}`)).body.detail.code).toBe("session_not_found");
});

test.runIf(IS_ROOT)(
  "a disk that is full below the least free space lets nothing in, and says the setting",
  async () => {
    const { turnd, fill, empty } = await onSmallDisk({ TURND_MIN_FREE_BYTES: "4194304" });
    const { turn_id } = await turnd.run({
      executor: "cli-b",
      session_id: "session-1",
      input: "x",
      request_id: "request-1",
    });
    fill(2_097_152);
    for (const [path, body] of [
      ["/v1/turns", { executor: "cli-b", input: "x" }],
      ["/v1/sessions", { executor: "cli-b" }],
    ] as const) {
      const { status, body: problem } = await turnd.request("POST", path, body);
      expect([status, problem.detail.code]).toEqual([507, "storage_full"]);
      expect(problem.detail.message).toContain("TURND_MIN_FREE_BYTES");
    }
    // A repeat takes no room.
    const repeat = { executor: "cli-b", session_id: "session-1", input: "x", request_id: "request-1" };
    expect((await turnd.request("POST", "/v1/turns", repeat)).body.turn_id).toBe(turn_id);
    await waitFor("the word about it", async () =>
      (await readiness(turnd)).state.message?.includes("TURND_MIN_FREE_BYTES"),
    );
    empty();
    await waitFor("readiness", async () => (await readiness(turnd)).ready);
    expect((await turnd.run({ executor: "cli-b", input: "x" })).status).toBe("completed");
  },
);

test.runIf(IS_ROOT)(
  "what a full disk refuses leaves no session and no directory, however often it is repeated",
  async () => {
    const { turnd, fill, empty, state } = await onSmallDisk();
    for (const left of [0, 4096, 8192, 16_384]) {
      fill(left);
      for (let round = 0; round < 5; round += 1) {
        const body = { executor: "cli-b", input: "x".repeat(20_000) };
        expect((await turnd.request("POST", "/v1/turns", body)).status).toBe(507);
        if (left === 0) expect((await turnd.request("POST", "/v1/sessions", { executor: "cli-b" })).status).toBe(507);
      }
      empty();
    }
    expect(readdirSync(join(state, "sessions"))).toEqual([]);
    expect((await turnd.request("GET", "/v1/sessions")).text).not.toContain("session_id");
    expect((await turnd.run({ executor: "cli-b", input: "x" })).status).toBe("completed");
  },
);

test.runIf(IS_ROOT).each([0, 65_536, 400_000])(
  "a turn that meets a disk with %i bytes left is a storage_error",
  async (left) => {
    const { turnd, fill, state } = await onSmallDisk();
    const go = join(turnd.workspace, "go");
    const home = "$TMPDIR/fill";
    const input = `shell until [ -e ${go} ]; do sleep 0.02; done\nshell head -c 64000000 /dev/zero > ${home}\nexit 1`;
    const first = await turnd.admit({ executor: "cli-b", session_id: "session-1", input });
    const waiting = await turnd.admit({ session_id: "session-1", input: "exit 1" });
    await waitFor("it to run", () =>
      readdirSync(join(state, "sessions/session-1/turns", first.turn_id)).includes("started"),
    );
    fill(left);
    writeFileSync(go, "");
    for (const { turn_id } of [first]) {
      for await (const frame of turnd.follow(turn_id)) if (frame.event === "end") break;
      const { failure } = (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
      expect(failure).toMatchObject({ code: "storage_error" });
    }
    for await (const frame of turnd.follow(waiting.turn_id)) if (frame.event === "end") break;
    expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
  },
);
