import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { openEventLog, type EventLog } from "../../../../src/turnd/daemon/event-log/event-log.ts";
import type { LoggedLine } from "../../../../src/turnd/daemon/event-log/logged-lines.ts";
import { readEvents } from "../../../../src/turnd/daemon/event-log/read-events.ts";
import type { NewEvent } from "../../../../src/turnd/daemon/event-log/sequence.ts";
import { createTail, type WritableTail } from "../../../../src/turnd/daemon/event-log/tail.ts";
import { frameNdjson } from "../../../../src/turnd/daemon/http/streaming/sse.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

const DISK = ["takes all", "takes a part", "takes a part and is full", "is full"] as const;
type Disk = (typeof DISK)[number];

/** What the disk does with the next writes; with those after them, it takes all. */
const disk: Disk[] = [];
const FULL = Object.assign(new Error("no space"), { code: "ENOSPC" });

/** How many of the bytes the disk takes now, and whether it is full then. */
function nextWrite(length: number): { readonly part: number; readonly isFull: boolean } {
  const now = disk.shift() ?? "takes all";
  const part = now === "takes all" ? length : now === "is full" ? 0 : Math.ceil(length / 2);
  return { part, isFull: now.endsWith("full") };
}

vi.mock(import("node:fs"), async (original) => {
  const real = await original();
  const writeSync = (fd: number, bytes: NodeJS.ArrayBufferView, offset: number, length: number): number => {
    const { part, isFull } = nextWrite(length);
    const written = real.writeSync(fd, bytes, offset, part);
    if (isFull) throw FULL;
    return written;
  };
  return { ...real, writeSync: Object.assign(writeSync) };
});

async function fillDiskNowAndThen(directory: string): Promise<void> {
  const file = await open(directory);
  const handle: FileHandle = Object.getPrototypeOf(file);
  await file.close();
  const takeAll: (this: FileHandle, bytes: Buffer, offset: number, length: number) => Promise<unknown> = handle.write;
  async function takePart(this: FileHandle, bytes: Buffer, offset: number, length: number): Promise<unknown> {
    const { part, isFull } = nextWrite(length);
    const written = await takeAll.call(this, bytes, offset, part);
    if (isFull) throw FULL;
    return written;
  }
  Object.assign(handle, { write: takePart });
  onTestFinished(() => void Object.assign(handle, { write: takeAll }));
}

type Step = { readonly append: readonly number[] } | { readonly turns: number } | { readonly disk: readonly Disk[] };

const steps = fc.array<Step>(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ append: fc.array(fc.constantFrom(0, 1, 100, 5_000), { maxLength: 4 }) }) },
    // Around what is written at once, and what waiting readers are given.
    {
      weight: 2,
      arbitrary: fc.record({ append: fc.array(fc.constantFrom(1, 16_000, 17_000, 65_000, 70_000), { maxLength: 4 }) }),
    },
    { weight: 3, arbitrary: fc.record({ turns: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ disk: fc.array(fc.constantFrom(...DISK), { maxLength: 4 }) }) },
  ),
  { minLength: 1, maxLength: 40 },
);

/** What a reader does with a batch: keeps it at once, or after so many turns of the event loop, or comes back for it. */
const manner = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom("leaves", "leaves meanwhile", "fails") },
);
type Manner = number | "leaves" | "leaves meanwhile" | "fails";
const manners = fc.array<Manner>(manner, { maxLength: 8 }).map((all): Manner[] => [...all, 0]);

async function passTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

/** Reads a log to its end over as many connections as it takes. */
async function readAll(path: string, tail: WritableTail, all: readonly Manner[]): Promise<string> {
  const fd = openSync(path, "r");
  const kept: Buffer[] = [];
  let [lastSeq, sizeBytes, batches, isKeeping] = [0, 0, 0, false];
  let controller = new AbortController();

  function take(lines: readonly LoggedLine[]): Promise<void> | undefined {
    expect(isKeeping).toBe(false);
    const how = all[batches % all.length];
    batches += 1;
    if (how === "fails") throw new Error("its connection is gone");
    const { bytes } = frameNdjson(lines);
    // It is in the file when it is given.
    const inFile = Buffer.alloc(bytes.length);
    readSync(fd, inFile, 0, bytes.length, sizeBytes);
    expect(inFile.equals(bytes)).toBe(true);
    kept.push(bytes);
    sizeBytes += bytes.length;
    for (const { seq } of lines) expect(seq).toBe((lastSeq += 1));
    if (how === "leaves") controller.abort();
    if (how === "leaves meanwhile") setImmediate(() => controller.abort());
    if (how === 0) return undefined;
    isKeeping = true;
    return passTurns(typeof how === "number" ? how : 2).then(() => void (isKeeping = false));
  }

  while (!tail.isEnded() || lastSeq < tail.lastSeq()) {
    controller = new AbortController();
    const { signal } = controller;
    try {
      for await (const lines of readEvents(path, {
        afterSeq: lastSeq,
        tail,
        isFollowing: true,
        signal,
        atOnce: take,
      })) {
        if (signal.aborted) break;
        await take(lines);
      }
    } catch (error) {
      if (!(error instanceof Error) || error.message !== "its connection is gone") throw error;
    }
  }
  closeSync(fd);
  return Buffer.concat(kept).toString();
}

/** Writes without waiting for what was written before. @returns the ids of the messages that the disk has taken */
async function writeAll(log: EventLog, all: readonly Step[]): Promise<readonly string[]> {
  const appending: Promise<readonly string[]>[] = [];
  let count = 0;
  for (const step of all) {
    if ("turns" in step) await passTurns(step.turns);
    if ("disk" in step) disk.splice(0, disk.length, ...step.disk);
    if ("append" in step) appending.push(append(step.append.map((size) => ({ size, id: `message-${(count += 1)}` }))));
  }
  async function append(messages: readonly { size: number; id: string }[]): Promise<readonly string[]> {
    const events = messages.map(({ id, size }): NewEvent => ({
      type: "message",
      data: { message_id: id, text: `${"ä".repeat(size / 2)}x` },
    }));
    try {
      await log.append(events);
      return messages.map(({ id }) => id);
    } catch (error) {
      expect(error).toBe(FULL);
      return [];
    }
  }
  return (await Promise.all(appending)).flat();
}

test("whatever is appended and refused, and however it is read: each reader has the file, each event once", async () => {
  const directory = temporaryDirectory(onTestFinished);
  await fillDiskNowAndThen(directory);
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps, fc.array(manners, { minLength: 1, maxLength: 8 }), async (all, readers) => {
      const path = join(directory, `${(runs += 1)}.jsonl`);
      const ids = { turnId: "turn-1", sessionId: "session-1", executor: "cli-b" } as const;
      const tail = createTail(0, 0);
      disk.length = 0;
      const log = await openEventLog({ path, tail, ...ids, now: () => "2026-11-21T08:00:00Z", redact: (line) => line });
      const reading = Promise.all(readers.map(async (reader) => readAll(path, tail, reader)));
      const written = await writeAll(log, all);
      await log.close();
      const text = readFileSync(path, "utf8");
      const logged = text.split("\n").slice(0, -1);
      expect(logged.map((line) => JSON.parse(line).data.message_id)).toEqual(written);
      expect(logged.map((line) => JSON.parse(line).seq)).toEqual(written.map((_, index) => index + 1));
      for (const read of await reading) expect(read === text).toBe(true);
    }),
    { numRuns: 40 },
  );
});
