import fc from "fast-check";
import { expect, test } from "vitest";
import { createIsoTime } from "../../../../src/turnd/daemon/event-log/iso-time.ts";

test("a time is told as Date tells it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -8.64e15, max: 8.64e15 }), { minLength: 1 }),
      fc.nat(3_000),
      (times, step) => {
        const all = times.flatMap((time) => [time, Math.min(time + step, 8.64e15)]);
        let next = 0;
        const tell = createIsoTime(() => all[next++] ?? 0);
        expect(all.map(() => tell())).toEqual(all.map((time) => new Date(time).toISOString()));
      },
    ),
  );
});
