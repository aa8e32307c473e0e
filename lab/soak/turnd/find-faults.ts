import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { LoggedEvent } from "../../../src/turnd/protocol/index.ts";
import type { TestDaemon } from "../../../test/harness/daemon.ts";
import { processesNaming } from "../../../test/harness/processes.ts";
import type { Admitted, Requested } from "./play-turn.ts";

/** How a turn ended, and what is wrong with its log and its witness, one sentence a fault. */
export function inspectTurn(turnd: TestDaemon, turn: Admitted): { ending: string; faults: string[] } {
  const faults: string[] = [];
  const path = join(turnd.state, "sessions", turn.sessionId, "turns", turn.turnId, "events.jsonl");
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const events = lines.map((line) => LoggedEvent.parse(JSON.parse(line)));
  const ends = events.filter((event) => event.type === "turn.ended");
  const [end] = ends;
  if (end?.type !== "turn.ended" || ends.length !== 1) {
    return { ending: "none", faults: [`${path}: ${ends.length} turn.ended`] };
  }
  if (events.some((event, index) => event.seq !== index + 1)) faults.push(`${path}: seq is not dense`);
  if (events.length !== turn.lastSeq) faults.push(`${path}: ${events.length} events, the reader saw ${turn.lastSeq}`);
  const before = lines.slice(0, -1).map((line) => `${line}\n`);
  if (createHash("sha256").update(before.join("")).digest("hex") !== end.data.digest) faults.push(`${path}: digest`);
  const runs = countRuns(turn.witness);
  if (runs > 1) faults.push(`request ${turn.requestId} was executed ${runs} times`);
  // Cancelled while it waited: only its end is logged.
  if (events.length === 1 && runs > 0) faults.push(`${path}: never started, but was executed`);
  if (end.data.status === "completed" && runs !== 1) faults.push(`${path}: completed, but was executed ${runs} times`);
  return { ending: end.data.failure?.code ?? end.data.status, faults };
}

/** What is wrong with a turn whose session was deleted: it is gone, and its request is kept. */
export async function inspectDeleted(turnd: TestDaemon, turn: Requested): Promise<string[]> {
  const faults: string[] = [];
  const { requestId, turnId, sessionId } = turn;
  const runs = countRuns(turn.witness);
  if (runs > 1) faults.push(`request ${requestId} was executed ${runs} times`);
  const kept = await turnd.request("GET", `/v1/turns/${turnId}`);
  if (kept.status !== 404) faults.push(`turn ${turnId} of a deleted session answers ${kept.status}`);
  const request = { executor: "cli-b", session_id: sessionId, request_id: requestId, input: "again" };
  const again = await turnd.request("POST", "/v1/turns", request);
  const { data } = RememberedProblem.safeParse(again.body);
  if (again.status !== 404 || data?.detail.turn_id !== turnId) {
    faults.push(`request ${requestId} of deleted turn ${turnId} is answered ${again.status} ${again.text}`);
  }
  return faults;
}

const RememberedProblem = z.object({ detail: z.object({ code: z.literal("session_not_found"), turn_id: z.string() }) });

function countRuns(witness: string): number {
  try {
    return readFileSync(witness, "utf8").trimEnd().split("\n").length;
  } catch {
    return 0; // It never came to its first line.
  }
}

/** Turns on the disk that no client received. */
export function faultsOfState(turnd: TestDaemon, admitted: readonly Admitted[]): string[] {
  const known = new Set(admitted.map((turn) => turn.turnId));
  const sessions = join(turnd.state, "sessions");
  return readdirSync(sessions)
    .flatMap((session) => readdirSync(join(sessions, session, "turns")))
    .filter((turnId) => !known.has(turnId))
    .map((turnId) => `no client asked for turn ${turnId}`);
}

/** Processes that a turn left, and files of ended turns that the daemon holds open. Law: nothing outlives its turn. */
export function leftovers(turnd: TestDaemon, directory: string, mark: string): string[] {
  const processes = new Set([...processesNaming(`${directory}/`, "anywhere"), ...processesNaming(mark)]);
  // The soak's own command line names the seed, not the mark; the daemon's environment names the directory.
  for (const own of [turnd.pid, process.pid]) processes.delete(own);
  return [...[...processes].map((pid) => `process ${pid}: ${readProc(pid, "cmdline")}`), ...openTurnFiles(turnd.pid)];
}

function openTurnFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/${pid}/fd/${fd}`);
      return path.includes("/turns/") ? [`the daemon holds ${path}`] : [];
    } catch {
      return []; // Closed meanwhile.
    }
  });
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8").replaceAll("\0", " ");
  } catch {
    return "gone";
  }
}
