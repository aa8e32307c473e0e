import { expect, test, vi } from "vitest";
import type { LoggedLine } from "../../../../src/turnd/daemon/event-log/logged-lines.ts";
import { readEvents, type TakeLines } from "../../../../src/turnd/daemon/event-log/read-events.ts";
import type { WritableTail } from "../../../../src/turnd/daemon/event-log/tail.ts";
import { keepDiskQuick, linesOf, message, newPath, openLog } from "./open-log.ts";

/** Reads a log from its beginning; `untilWaiting` resolves when this reader waits at its end. */
function follow(path: string, tail: WritableTail, atOnce?: TakeLines) {
  const read: string[] = [];
  const waits = vi.fn<() => void>();
  const watch: typeof tail.watch = (signal, take) => {
    const watched = tail.watch(signal, take);
    const changed = (): Promise<void> => {
      waits();
      return watched.changed();
    };
    return { ...watched, changed };
  };
  const signal = new AbortController().signal;
  const options = { afterSeq: 0, tail: { ...tail, watch }, isFollowing: true, signal, atOnce };
  const reading = (async () => {
    for await (const lines of readEvents(path, options)) read.push(...lines.map(({ bytes }) => bytes.toString()));
  })();
  const untilWaiting = (times = 1): Promise<void> => vi.waitFor(() => expect(waits.mock.calls.length).toBe(times));
  return { read, reading, untilWaiting };
}

test("readers who wait at the end are given one batch, the same for all, when it is in the file", async () => {
  keepDiskQuick();
  const path = newPath();
  const { log, tail } = await openLog(path);
  const given: { readonly lines: readonly LoggedLine[]; readonly logged: number }[] = [];
  const take: TakeLines = (lines) => void given.push({ lines, logged: linesOf(path).length });
  const readers = [follow(path, tail, take), follow(path, tail, take)];
  await Promise.all(readers.map(({ untilWaiting }) => untilWaiting()));
  // Nothing is waited for: it is written and given in this moment.
  expect(log.append([message("one"), message("two")])).toBeUndefined();
  expect(given).toMatchObject([
    { lines: [{ seq: 1, type: "message" }, { seq: 2 }], logged: 2 },
    { lines: [{ seq: 1 }, { seq: 2 }], logged: 2 },
  ]);
  expect(given[1]?.lines).toBe(given[0]?.lines);
  await log.close();
  await Promise.all(readers.map(({ reading }) => reading));
  // What was given at once does not come a second time.
  expect(readers.flatMap(({ read }) => read)).toEqual([]);
});

test("a reader who takes no more for a while reads the rest from the file, each line once and in order", async () => {
  keepDiskQuick();
  const path = newPath();
  const { log, tail } = await openLog(path);
  const kept = Promise.withResolvers<void>();
  const given: string[] = [];
  const reader = follow(path, tail, (lines) => {
    given.push(...lines.map(({ bytes }) => bytes.toString()));
    return given.length === 2 ? kept.promise : undefined;
  });
  await reader.untilWaiting();
  for (const text of ["one", "two", "three", "x".repeat(70_000), "five"]) await log.append([message(text)]);
  expect(given).toHaveLength(2);
  expect(reader.read).toEqual([]);
  kept.resolve();
  await reader.untilWaiting(2);
  expect([...given, ...reader.read]).toEqual(linesOf(path));
  // And from then on at once again.
  expect(log.append([message("six")])).toBeUndefined();
  expect(given).toHaveLength(3);
  await log.close();
  await reader.reading;
  expect([...given.slice(0, 2), ...reader.read, ...given.slice(2)]).toEqual(linesOf(path));
});

test("a reader who fails ends alone: the log goes on, and so do the others", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  const given: string[] = [];
  const failing = follow(path, tail, () => {
    throw new Error("its connection is gone");
  });
  const failed = failing.reading.then(
    () => "ended",
    ({ message: why }: Error) => why,
  );
  const other = follow(path, tail, (lines) => void given.push(...lines.map(({ bytes }) => bytes.toString())));
  await Promise.all([failing.untilWaiting(), other.untilWaiting()]);
  await log.append([message("one")]);
  await log.append([message("two")]);
  expect(await failed).toBe("its connection is gone");
  await log.close();
  await other.reading;
  expect(given).toEqual(linesOf(path));
});
