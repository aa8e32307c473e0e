import { expect, test } from "vitest";
import { shareAnswer } from "../../../../../src/turnd/daemon/turns/executors/shared-answer.ts";

/** A question that is answered when the test says so, and a clock that the test sets. */
function question(keptMs: (answer: string) => number = () => 1_000) {
  const asked: { answer: (value: string) => void; fail: (error: Error) => void; signal: AbortSignal }[] = [];
  let time = 0;
  const ask = shareAnswer<string>({
    ask(signal) {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      signal.addEventListener("abort", () => reject(signal.reason));
      asked.push({ answer: resolve, fail: reject, signal });
      return promise;
    },
    keptMs,
    clockMs: () => time,
  });
  return { ask, asked, setTime: (to: number) => (time = to) };
}

test("all who ask at the same time get one answer, and it is given again until it is old", async () => {
  const { ask, asked, setTime } = question();
  const waiting = [ask(), ask(), ask()];
  asked[0]?.answer("yes");
  expect(await Promise.all(waiting)).toEqual(["yes", "yes", "yes"]);
  setTime(999);
  expect([await ask(), asked.length]).toEqual(["yes", 1]);
  setTime(1_000);
  const again = ask();
  asked[1]?.answer("no");
  expect([await again, asked.length]).toEqual(["no", 2]);
});

test("each answer is kept for its own time, and none by a clock that was set back", async () => {
  const { ask, asked, setTime } = question((answer) => (answer === "yes" ? 1_000 : 10));
  const first = ask();
  asked[0]?.answer("no");
  await first;
  setTime(10);
  const second = ask();
  asked[1]?.answer("yes");
  await second;
  setTime(5);
  const third = ask();
  expect(asked.length).toBe(3);
  asked[2]?.answer("yes");
  await third;
});

test("a failure is thrown to all that wait and is not kept", async () => {
  const { ask, asked } = question();
  const waiting = [ask(), ask()];
  asked[0]?.fail(new Error("broken"));
  expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const again = ask();
  asked[1]?.answer("yes");
  expect(await again).toBe("yes");
});

test("one caller that leaves ends no other caller's waiting", async () => {
  const { ask, asked } = question();
  const leaving = new AbortController();
  const one = ask(leaving.signal);
  const other = ask(new AbortController().signal);
  leaving.abort(new Error("left"));
  await expect(one).rejects.toThrow("left");
  expect(asked[0]?.signal.aborted).toBe(false);
  asked[0]?.answer("yes");
  expect(await other).toBe("yes");
});

test("when the last one has left nothing is asked any more, and the next one asks anew", async () => {
  const { ask, asked } = question();
  const leaving = new AbortController();
  const waiting = [ask(leaving.signal), ask(leaving.signal)];
  leaving.abort(new Error("left"));
  const next = ask();
  await Promise.allSettled(waiting);
  // The one who came before the others had gone kept the question open.
  expect(asked[0]?.signal.aborted).toBe(false);
  asked[0]?.answer("yes");
  expect(await next).toBe("yes");

  const second = question();
  const alone = second.ask(leaving.signal);
  await expect(alone).rejects.toThrow("left");
  expect(second.asked).toEqual([]);
  const later = new AbortController();
  const left = second.ask(later.signal);
  later.abort(new Error("left too"));
  await expect(left).rejects.toThrow("left too");
  expect(second.asked[0]?.signal.aborted).toBe(true);
  const fresh = second.ask();
  second.asked[1]?.answer("yes");
  expect(await fresh).toBe("yes");
});
