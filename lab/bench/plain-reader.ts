import { closeSync, existsSync, openSync, readSync, watch } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { createClock } from "./clock.ts";

// A thread that only watches one file: the yardstick of latency. It posts one number a stamped line,
// milliseconds from the CLI's write to here, and ends with the last line of the turn.
const path = z.string().parse(workerData);
const now = createClock();
const Stamped = z.object({ item: z.object({ text: z.string().regex(/^\d+\.\d+$/) }) });
const buffer = Buffer.allocUnsafe(65_536);

while (!existsSync(path)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
const file = openSync(path, "r");
const watcher = watch(path, read);
let [offset, rest] = [0, ""];
const latencies: number[] = [];
read();
// What was there before this thread has waited for it, not the other way round.
latencies.length = 0;

function read(): void {
  const size = readSync(file, buffer, 0, buffer.length, offset);
  const at = now();
  offset += size;
  const lines = (rest + buffer.toString("utf8", 0, size)).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    const stamped = Stamped.safeParse(JSON.parse(line));
    if (stamped.success) latencies.push(at - Number(stamped.data.item.text) * 1000);
    if (line.includes('"turn.completed"')) finish();
  }
}

function finish(): void {
  watcher.close();
  closeSync(file);
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
  parentPort?.postMessage(latencies);
}
