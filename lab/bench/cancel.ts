import { waitFor } from "../../test/harness/wait-for.ts";
import { processesNaming } from "../../test/harness/processes.ts";
import { percentile, type Figure } from "./figures.ts";
import type { Stage } from "./stage.ts";

const ROUNDS = 30;
/** The default of `TURND_CANCEL_GRACE_MS`. */
const GRACE_MS = 2_000;

/** Milliseconds until a cancel answers, with seven processes that try to escape, below a CLI that ignores signals every second time. */
export async function benchCancel({ turnd }: Stage): Promise<Figure> {
  const cancels: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const mark = String(3_000_000 + (process.pid % 10_000) * 100 + round);
    const rest = round % 2 === 0 ? "hang" : "ignore-signals\nhang";
    const { turn_id } = await turnd.admit({ executor: "cli-b", input: `shell escapees ${mark}\nready\n${rest}` });
    await waitFor("the escaped processes", async () =>
      (await turnd.events(turn_id)).some(({ type }) => type === "message"),
    );
    const askedAt = performance.now();
    await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    cancels.push(performance.now() - askedAt);
    const survivors = processesNaming(mark);
    if (survivors.length > 0) throw new Error(`round ${round}: ${survivors.join(" ")} survived the cancel`);
  }
  const p95 = percentile(cancels, 0.95);
  return {
    measure: `cancel of escaped processes, p95 of ${ROUNDS}`,
    turnd: `${p95.toFixed(0)} ms`,
    yardstick: `${GRACE_MS} ms its grace`,
    ratio: p95 / GRACE_MS,
    target: "<= 2500 ms",
  };
}
