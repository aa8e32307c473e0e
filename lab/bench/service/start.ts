import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startKillableProcess, type KillableProcess } from "../../soak/service/killable-process.ts";
import { percentile, type Figure } from "../figures.ts";
import { withService } from "./service-stage.ts";

const TIMES = 5;

/**
 * From `kill -9` to listening again, beside a process that does nothing but open the same directory, killed and started the
 * same way. One after the other in turns: what the machine does meanwhile is both's.
 */
export async function benchStart(directory: string): Promise<Figure> {
  return withService("pglite", directory, async ({ stage }) => {
    if (stage.database.kind !== "pglite" || stage.database.directory === undefined) throw new Error("not on PGlite");
    const copy = join(directory, "alone");
    // Not a copy of what is being written: the service is stopped while it is made.
    await stage.service.killAndRestart(0);
    cpSync(stage.database.directory, copy, { recursive: true });
    rmSync(join(copy, "postmaster.pid"), { force: true });
    const alone = await startKillableProcess({
      name: "alone",
      command: [process.execPath, join(import.meta.dirname, "open-alone.ts"), copy],
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      logPath: join(directory, "alone.log"),
    });
    try {
      const [ours, open]: [number[], number[]] = [[], []];
      for (let count = 0; count < TIMES; count += 1) {
        ours.push(await timeRestart(stage.service));
        open.push(await timeRestart(alone));
      }
      const [p50, bound] = [percentile(ours, 0.5), percentile(open, 0.5)];
      return {
        measure: `pglite: kill -9 to listening again, p50 of ${TIMES}`,
        turnd: `${p50.toFixed(0)} ms`,
        yardstick: `${bound.toFixed(0)} ms, a process that only opens it`,
        ratio: p50 / bound,
        target: "<= 1.5",
      };
    } finally {
      await alone.stop();
    }
  });
}

async function timeRestart(killable: KillableProcess): Promise<number> {
  const startedAt = performance.now();
  await killable.killAndRestart(0);
  return performance.now() - startedAt;
}
