import { expect, test } from "vitest";
import { stopWithin, type StopPlan } from "../../../src/turnd/daemon/serve/stop.ts";

const hang = () => new Promise<never>(() => {});

/** Stops by a plan and returns the steps that were taken, in order. */
async function stop(plan: Partial<StopPlan>) {
  const taken: string[] = [];
  const note = (name: string) => async () => void taken.push(name);
  const onLate = (what: string) => void taken.push(`late: ${what}`);
  const { ends = [], closes = [], ...rest } = plan;
  const stopping = stopWithin({
    ends: [...ends, note("end")],
    closes: [...closes, note("close")],
    boundMs: 60_000,
    lastMs: 60_000,
    onLate,
    ...rest,
  });
  return {
    error: await stopping.then(
      () => undefined,
      (error: unknown) => error,
    ),
    taken,
  };
}

test("what runs is ended first, then what is left is closed", async () => {
  expect(await stop({})).toEqual({ error: undefined, taken: ["end", "close"] });
});

test("a step that fails keeps no other from being taken, and is reported", async () => {
  const fault = new Error("cannot");
  const fail = async () => {
    throw fault;
  };
  const { error, taken } = await stop({ ends: [fail], closes: [fail] });
  expect(taken).toEqual(["end", "close"]);
  expect(error).toMatchObject({ errors: [fault, fault] });
});

test("a step that hangs keeps no other from being taken, and is waited for no longer than the bounds", async () => {
  const { error, taken } = await stop({ ends: [hang], closes: [hang], boundMs: 50, lastMs: 50 });
  expect([error, taken]).toEqual([undefined, ["end", "late: ends", "close", "late: closes"]]);
});
