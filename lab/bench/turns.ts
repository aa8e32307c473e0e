import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fakeEnv } from "../../test/harness/fake-env.ts";
import { percentile, type Figure } from "./figures.ts";
import { messageOf, runTurn, type Stage } from "./stage.ts";

const BURST = 50_000;
const TURNS = 40;
/** Until what every turn runs has been compiled; a turnd runs thousands. */
const TURNS_BEFORE = 10;
const now = (): number => performance.now();

/** Events a second at one client while the CLI writes as fast as it can, beside the CLI that writes to a file. */
export async function benchBurst(stage: Stage): Promise<Figure> {
  const input = `burst ${BURST}`;
  const alone = await timeAlone(stage, input);
  let [first, last, messages] = [Infinity, 0, 0];
  await runTurn(stage, input, {
    now,
    onArrival({ at, frames }) {
      for (const frame of frames) if (messageOf(frame) !== undefined) messages += 1;
      if (messages > 0) first = Math.min(first, at);
      last = at;
    },
  });
  if (messages !== BURST) throw new Error(`${messages} of ${BURST} messages arrived`);
  const rate = (ms: number): number => (BURST * 1000) / ms;
  return {
    measure: `burst of ${BURST} events at one SSE client, none lost`,
    turnd: `${Math.round(rate(last - first))} events/s`,
    yardstick: `${Math.round(rate(alone))} lines/s only the CLI`,
    ratio: rate(last - first) / rate(alone),
  };
}

/** The smallest turn there is, from the request to the `end` frame, beside only the CLI's process. */
export async function benchTrivialTurn(stage: Stage): Promise<Figure> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let turn = 0; turn < TURNS_BEFORE; turn += 1) await stage.turnd.run({ executor: "cli-b", input: "hello" });
  for (let turn = 0; turn < TURNS; turn += 1) {
    const startedAt = now();
    let end = 0;
    await runTurn(stage, "hello", {
      now,
      onArrival({ at, frames }) {
        if (frames.some((frame) => frame.includes("\nevent: end\n"))) end = at;
      },
    });
    ours.push(end - startedAt);
    theirs.push(await timeAlone(stage, "hello"));
  }
  const [turnMs, aloneMs] = [percentile(ours, 0.5), percentile(theirs, 0.5)];
  return {
    measure: `trivial turn, admission to end, p50 of ${TURNS}`,
    turnd: `${turnMs.toFixed(0)} ms`,
    yardstick: `${aloneMs.toFixed(0)} ms only the CLI`,
    ratio: turnMs / aloneMs,
  };
}

/** Runs the fake CLI on its own, its input and output files as in a turn. @returns milliseconds to its exit */
async function timeAlone({ directory }: Stage, input: string): Promise<number> {
  const home = mkdtempSync(join(directory, "alone-"));
  writeFileSync(join(home, "prompt.txt"), input);
  const { CLI_B_BIN = "" } = fakeEnv(directory);
  const files = [openSync(join(home, "prompt.txt"), "r"), openSync(join(home, "stdout.jsonl"), "a")];
  try {
    const startedAt = now();
    const child = spawn(CLI_B_BIN, { stdio: [...files, "inherit"], env: { FAKE_CLI_B_HOME: home } });
    const exit = await once(child, "exit");
    if (exit[0] !== 0) throw new Error(`the CLI by itself ended with ${String(exit[0])}`);
    return now() - startedAt;
  } finally {
    files.forEach(closeSync);
  }
}
