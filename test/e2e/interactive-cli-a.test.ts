import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import type { LoggedEvent, TurnAdmission, TurnSnapshot } from "../../src/turnd/protocol/index.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { readArguments, listProcesses } from "../../src/turnd/daemon/process/keeper/process-table.ts";
import { KEY, NEWEST_CLI_A, shareStage } from "../harness/real-daemon.ts";
import { withoutTimeAndIds } from "../harness/recordings.ts";
import { CLI_USER, REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";
import { replayLines } from "../turnd/daemon/replay/replay-lines.ts";

/** Starts what does not want to end with its turn; with `stay` the tool itself stays too. What holds its output would keep it from ending. */
const escape: Scenario = (conversation, { argument }) => {
  const [mark = "", stays] = argument.split(" ");
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say("They are gone.");
  const command = `./escapees ${mark} > /dev/null 2>&1${stays === undefined ? "" : `; sleep ${mark}`}`;
  return act(conversation, { type: "run", command, purpose: "Escapes", seconds: 60 });
};

/** The version whose server was measured. A start takes 6 s of CPU: a server does as many turns as it can. */
describe(`cli-a ${NEWEST_CLI_A.version}`, () => {
  const stage = shareStage(NEWEST_CLI_A, {
    env: { TURND_TRANSPORT: "auto", TURND_MAX_WARM_A: "1" },
    model: { scenarios: { escape } },
  });
  const executor = "cli-a";
  const typesOf = (events: readonly LoggedEvent[]): string[] => events.map(({ type }) => type);
  const directoryOf = ({ session_id, turn_id }: Pick<TurnAdmission, "session_id" | "turn_id">): string =>
    join(stage().turnd.state, "sessions", session_id, "turns", turn_id);

  /** Those of turnd's user that stand before a server are not among them. */
  function serverPids(): number[] {
    return listProcesses()
      .map(({ pid }) => pid)
      .filter((pid) => {
        const args = readArguments(pid) ?? "";
        if (!args.includes(" serve --port=0 ") || args.includes("server-relay")) return false;
        try {
          return readFileSync(`/proc/${pid}/environ`, "latin1").includes(stage().turnd.state);
        } catch {
          return false;
        }
      });
  }

  const waitForApproval = (turnId: string): Promise<string> =>
    waitFor("an approval", async () => {
      const { body } = await stage().turnd.request("GET", `/v1/turns/${turnId}/approvals`);
      return body.approvals?.[0]?.approval_id as string | undefined;
    });
  async function waitForEnd(turnId: string): Promise<TurnSnapshot> {
    for await (const frame of stage().turnd.follow(turnId)) if (frame.event === "end") break;
    return (await stage().turnd.request("GET", `/v1/turns/${turnId}`)).body;
  }
  const startsOf = (events: readonly LoggedEvent[]): unknown =>
    events.flatMap((event) => (event.type === "turn.started" ? [event.data.transport] : []))[0];

  test("a server does a session's turns: answers stream, the key is nowhere, and a copied turn replays", async () => {
    const { turnd, model } = stage();
    const first = await turnd.run({ executor, input: "My word is quince. @@text:Noted.@@" });
    expect(first).toMatchObject({ status: "completed", output: "Noted.", resumed: false });
    const servers = serverPids();
    const { session_id, native_session_id } = first;
    const second = await turnd.run({ session_id, input: "Second. @@recall@@" });
    expect(second).toMatchObject({ status: "completed", resumed: true, native_session_id });
    expect(second.output).toContain("quince");
    expect(second.exit).toBeUndefined();
    const tool = await turnd.run({ session_id, input: "@@tool-ok@@" });
    expect(serverPids()).toEqual(servers);

    const events = await turnd.events(second.turn_id);
    expect(events[0]).toMatchObject({ type: "turn.started", data: { transport: "interactive" } });
    expect(typesOf(events)).toContain("input.accepted");
    const pieces = events.flatMap((event) => (event.type === "message.delta" ? [event.data.text] : []));
    expect(pieces.join("")).toBe(second.output);
    const { body } = await turnd.request("GET", `/v1/executors/${executor}`);
    expect(body.transport).toEqual({ by_default: "interactive", interactive: true });

    const { text } = await replayLines(directoryOf(tool), { keepsOrder: true });
    const logged = readFileSync(join(directoryOf(tool), "events.jsonl"), "utf8");
    expect(withoutTimeAndIds(text)).toEqual(withoutTimeAndIds(logged));

    // Law: keys travel aside.
    for (const pid of servers) expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toContain(KEY);
    const { stdout } = await execa("grep", ["-rlF", KEY, turnd.state], { reject: false });
    expect(stdout).toBe("");
    expect(JSON.stringify(await turnd.events(tool.turn_id))).not.toContain(KEY);
    expect(model.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  });

  test("what a later turn says goes into the running one; a session goes on headless, and back", async () => {
    const { turnd } = stage();
    const running = await turnd.admit({ executor, input: "My word is quince. @@many:3:1@@" });
    const { session_id } = running;
    await waitFor("a tool", async () => typesOf(await turnd.events(running.turn_id)).includes("tool.started"));
    const later = await turnd.run({ session_id, input: "Enough. @@text:Stopped.@@", queue_policy: "steer" });
    expect(later).toMatchObject({ status: "completed", output: "Stopped.", taken_by: running.turn_id });
    expect(await waitForEnd(running.turn_id)).toMatchObject({ status: "completed" });
    const headless = await turnd.run({ session_id, transport: "headless", input: "@@recall@@" });
    expect(headless).toMatchObject({ status: "completed", resumed: true, exit: { code: 0 } });
    const third = await turnd.run({ session_id, input: "@@recall@@" });
    expect(third).toMatchObject({ status: "completed", resumed: true, degraded: false });
    expect(third.output).toContain("quince");
  });

  // Laws: at most once and the recording is the transport.
  test("after kill -9 of turnd a turn goes on: no event lost, none twice, nothing asked twice", async () => {
    let session: string | undefined;
    for (const afterMs of [300, 1_500]) {
      const before = stage().model.requests.length;
      const whose = session === undefined ? { executor } : { session_id: session };
      const { turn_id, session_id } = await stage().turnd.admit({ input: `${afterMs} @@many:2:0.3@@`, ...whose });
      session = session_id;
      await delay(afterMs);
      await stage().end("SIGKILL");
      await stage().start();
      expect(await waitForEnd(turn_id)).toMatchObject({ status: "completed" });
      const events = await stage().turnd.events(turn_id);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const tools = events.flatMap((event) => (event.type === "tool.ended" ? [event.data.output?.text.trim()] : []));
      expect(tools).toEqual(["step 1 of 2", "step 2 of 2"]);
      for (const type of ["turn.started", "session.bound", "input.accepted", "message", "turn.ended"]) {
        expect([type, typesOf(events).filter((one) => one === type).length]).toEqual([type, 1]);
      }
      expect(typesOf(events)).not.toContain("warning");
      expect(stage().model.requests.length - before).toBe(3);
    }
  });

  test("a person allows, also after a restart, and no tool can; beyond the pool a session is headless", async () => {
    const ask = { permissions: { approval: "ask" } };
    const first = await stage().turnd.admit({ executor, input: "@@tool-ok:alpha@@", ...ask });
    await waitForApproval(first.turn_id);
    await stage().end("SIGKILL");
    await stage().start();
    const id = await waitForApproval(first.turn_id);
    await attack();
    const { turnd } = stage();
    const other = await turnd.run({ executor, input: "@@text:Elsewhere.@@", transport: "interactive" });
    const events = await turnd.events(other.turn_id);
    expect([other.status, startsOf(events)]).toEqual(["completed", undefined]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: "warning", data: expect.objectContaining({ code: "transport_fallback" }) }),
    );
    // Law: never pretend.
    const unasked = await turnd.run({ executor, input: "@@text@@", ...ask });
    expect(unasked).toMatchObject({ status: "failed", failure: { code: "executor_unavailable" } });

    const answer = (decision: string) =>
      turnd.request("POST", `/v1/turns/${first.turn_id}/approvals/${id}`, { decision });
    expect((await answer("accept")).status).toBe(200);
    expect((await answer("accept")).status).toBe(200);
    expect(await waitForEnd(first.turn_id)).toMatchObject({ status: "completed" });
    expect((await answer("accept")).body.detail.code).toBe("turn_ended");
    const asked = (await turnd.events(first.turn_id)).filter(({ type }) => type.startsWith("approval."));
    expect(asked).toMatchObject([
      { type: "approval.requested", data: { kind: "execute", title: "echo alpha" } },
      { type: "approval.resolved", data: { decision: "accept", by: "client" } },
    ]);
  });

  /** As the user of the tools: neither what turnd says to the server nor what that says can be had, and its door is locked. */
  async function attack(): Promise<void> {
    if (CLI_USER.isSelf) return;
    const [server = 0] = serverPids();
    const script = `cat /proc/${server}/fd/0 /proc/${server}/fd/1 < /dev/null; cat ${stage().turnd.state}/sessions/*/server/*/stdin
      port=$(awk '$4 == "0A" { print $2 }' /proc/${server}/net/tcp | cut -d: -f2 | while read -r hex; do echo $((16#$hex)); done)
      for one in $port; do curl -s -m 2 -o /dev/null -w '%{http_code} ' http://127.0.0.1:$one/permission; done`;
    const { stdout } = await execa("/bin/bash", ["-c", script], {
      reject: false,
      timeout: 20_000,
      uid: CLI_USER.uid,
      gid: CLI_USER.gid,
    });
    expect(stdout).not.toContain("per_");
    expect(stdout).toContain("401");
  }

  // Law: nothing outlives its turn.
  test("what escapes from a tool is ended with the turn, whether that completes or is cancelled", async () => {
    const { turnd } = stage();
    copyFileSync(join(REPOSITORY, "test/programs/escapees"), join(turnd.workspace, "escapees"));
    const left = (mark: string): string[] =>
      listProcesses().flatMap(({ pid }) => {
        const args = readArguments(pid) ?? "";
        return args.includes(mark) || args.includes(".respawner") ? [args] : [];
      });
    const completed = await turnd.run({ executor, input: "@@escape:771001@@" });
    expect([completed.status, left("771001")]).toEqual(["completed", []]);
    const { session_id } = completed;
    const { turn_id } = await turnd.admit({ session_id, input: "@@escape:771002 stay@@" });
    await waitFor("the escapees", () => left("771002").length > 3);
    const { body } = await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    expect([body.status, left("771002")]).toEqual(["cancelled", []]);
    await turnd.request("DELETE", `/v1/sessions/${session_id}`);
    expect(serverPids()).toEqual([]);
    await stage().end("SIGTERM");
    await stage().start();
    expect(readdirSync(join(stage().turnd.state, "servers"))).toEqual([]);
  });
});
