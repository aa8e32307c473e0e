import { join } from "node:path";
import { execa } from "execa";
import { z } from "zod";
import { percentile, type Figure } from "../../figures.ts";

const TIMES = 3;
const Reported = z.object({ openedMs: z.number(), residentBytes: z.number() });
type Reported = z.infer<typeof Reported>;

/** Opening a directory and answering 60 questions, beside a process that does so with nothing but the engine, one after the other. */
export async function measureReopening(directory: string): Promise<Figure[]> {
  const [room, bare]: [Reported[], Reported[]] = [[], []];
  for (let time = 0; time < TIMES; time += 1) {
    room.push(await answer("room", directory));
    bare.push(await answer("bare", directory));
  }
  const opened = (all: readonly Reported[]): number =>
    percentile(
      all.map(({ openedMs }) => openedMs),
      0.5,
    );
  const resident = (all: readonly Reported[]): number =>
    percentile(
      all.map(({ residentBytes }) => residentBytes),
      0.5,
    );
  const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  return [
    {
      measure: "knowledge pglite: a process opens it, p50",
      turnd: `${opened(room).toFixed(0)} ms`,
      yardstick: `${opened(bare).toFixed(0)} ms, only the engine`,
      ratio: opened(room) / opened(bare),
    },
    {
      measure: "knowledge pglite: most resident, 60 questions answered",
      turnd: mebibytes(resident(room)),
      yardstick: `${mebibytes(resident(bare))}, only the engine`,
      ratio: resident(room) / resident(bare),
    },
  ];
}

async function answer(how: "room" | "bare", directory: string): Promise<Reported> {
  const program = join(import.meta.dirname, "answer-alone.ts");
  const { stdout } = await execa(process.execPath, [program, how, directory]);
  return Reported.parse(JSON.parse(stdout));
}
