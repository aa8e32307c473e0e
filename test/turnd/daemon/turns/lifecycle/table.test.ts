import fc from "fast-check";
import { expect, test } from "vitest";
import type { Input } from "../../../../../src/turnd/daemon/turns/lifecycle/inputs.ts";
import { beginLife, PHASES, type Life, type Phase } from "../../../../../src/turnd/daemon/turns/lifecycle/life.ts";
import {
  CONDITIONS,
  EFFECTS,
  reasonOf,
  step,
  TRANSITIONS,
  type Effect,
} from "../../../../../src/turnd/daemon/turns/lifecycle/table.ts";
import { ALL_INPUTS, anyInput } from "./inputs.ts";

const isCancel = (input: Input): boolean => input.type === "stop_requested" && input.reason === "cancel";
const isOver = ({ phase }: Life): boolean => phase === "ended" || phase === "postponed";

interface Taken {
  readonly life: Life;
  readonly next: Life;
  readonly input: Input;
  readonly effects: readonly Effect[];
}

/** Every step from every state that can be reached, from a new turn or one that an earlier daemon had been asked to stop. */
function exploreAll(): Taken[] {
  const seen = new Set<string>();
  const taken: Taken[] = [];
  const open: Life[] = [
    beginLife(),
    beginLife({ stopReason: "cancel", isAfresh: false }),
    beginLife({ stopReason: "shutdown", isAfresh: false }),
    beginLife({ stopReason: "session_deleted", isAfresh: false }),
    beginLife({ stopReason: undefined, isAfresh: true }),
  ];
  for (let life = open.pop(); life !== undefined; life = open.pop()) {
    if (seen.has(JSON.stringify(life))) continue;
    seen.add(JSON.stringify(life));
    for (const input of ALL_INPUTS) {
      const { life: next, effects } = step(life, input);
      taken.push({ life, next, input, effects });
      open.push(next);
    }
  }
  return taken;
}

/** What the run of a turn sends when all goes its way and nothing else happens. */
function endCondition({ phase, stopReason }: Life): Input {
  const byPhase: Readonly<Record<Phase, Input>> = {
    queued: { type: "dequeued" },
    starting: { type: stopReason === undefined ? "start_refused" : "start_given_up" },
    running: { type: "process_ended", mayStartAfresh: false },
    stopping: { type: "process_ended", mayStartAfresh: false },
    ending: { type: "end_logged", end: { status: "completed", at: "" } },
    ended: { type: "closed" },
    postponed: { type: "closed" },
  };
  return byPhase[phase];
}

const ALL = exploreAll();

test("every phase is reached, and every row, condition and effect of the table is of use", () => {
  expect(new Set(ALL.map(({ next }) => next.phase))).toEqual(new Set(Object.keys(PHASES)));
  expect(new Set(TRANSITIONS.flatMap(({ effects = [] }) => effects))).toEqual(new Set(Object.keys(EFFECTS)));
  expect(new Set(TRANSITIONS.flatMap((row) => row.if ?? []))).toEqual(new Set(Object.keys(CONDITIONS)));
  const rowOf = ({ life, input }: Taken): number =>
    TRANSITIONS.findIndex(
      ({ from, on, if: condition }) =>
        from.includes(life.phase) &&
        on.includes(input.type) &&
        (condition === undefined || CONDITIONS[condition](life, input)),
    );
  // Each input of a row, in each phase it names: none is hidden by a row before it.
  const used = new Set(ALL.map((taken) => `${rowOf(taken)} ${taken.life.phase} ${taken.input.type}`));
  const unused = TRANSITIONS.flatMap(({ from, on }, row) =>
    from.flatMap((phase) => on.map((input) => `${row} ${phase} ${input}`)),
  ).filter((key) => !used.has(key));
  expect(unused).toEqual([]);
});

test("from every state the end conditions lead to the end, and to a postponement only where this turnd shuts down", () => {
  for (const { next } of ALL) {
    let life = next;
    for (let steps = 0; !isOver(life) && steps < 4; steps += 1) ({ life } = step(life, endCondition(life)));
    expect([next, life.phase]).toEqual([next, isOver(life) ? life.phase : "an end"]);
  }
  const postponed = ALL.filter(({ life, next }) => life.phase !== "postponed" && next.phase === "postponed");
  expect(postponed.length).toBeGreaterThan(0);
  for (const { next } of postponed) expect([next.stopReason, next.isReasonInherited]).toEqual(["shutdown", false]);
});

test("what has ended, or is left to the next start, absorbs every input but a cancel of what is left", () => {
  const after = ALL.filter(({ life }) => isOver(life));
  expect(after.length).toBeGreaterThan(0);
  for (const { life, next, input, effects } of after) {
    if (life.phase === "postponed" && isCancel(input)) {
      expect([next, effects]).toEqual([{ ...life, stopReason: "cancel" }, ["save"]]);
    } else {
      expect(next).toEqual(life);
      expect(effects.filter((effect) => !/^(forget_decision|answer_.*)$/.test(effect))).toEqual([]);
    }
  }
});

test("whatever comes in whatever order, the end is noted once", () => {
  fc.assert(
    fc.property(fc.array(anyInput, { maxLength: 60 }), (inputs) => {
      let [life, ends] = [beginLife(), 0];
      for (const input of inputs) {
        const taken = step(life, input);
        ({ life } = taken);
        ends += taken.effects.filter((effect) => effect === "note_end").length;
      }
      expect(ends).toBe(life.phase === "ended" ? 1 : 0);
    }),
    { numRuns: 5_000 },
  );
});

test("a process is stopped once at most, before it is let go of, and every turn that is stopping has had it stopped", () => {
  fc.assert(
    fc.property(fc.array(anyInput, { maxLength: 60 }), (inputs) => {
      let life = beginLife();
      let [hasProcess, stops] = [false, 0];
      for (const input of inputs) {
        const { life: next, effects } = step(life, input);
        for (const effect of effects) {
          if (effect === "attach_process") [hasProcess, stops] = [true, 0];
          if (effect === "stop_process") stops += 1;
          if (effect === "stop_process" || effect === "abandon_output") expect(hasProcess).toBe(true);
          if (effect === "detach_process") hasProcess = false;
        }
        life = next;
        expect(hasProcess).toBe(life.phase === "running" || life.phase === "stopping");
        if (hasProcess) expect(stops).toBe(life.phase === "stopping" ? 1 : 0);
      }
    }),
    { numRuns: 5_000 },
  );
});

test("the first stop reason that is given holds, and what the process did before outweighs it", () => {
  const stop = anyInput.filter((input) => reasonOf(input) !== undefined || /^(halted|log_failed)$/.test(input.type));
  fc.assert(
    fc.property(fc.array(stop, { minLength: 1 }), fc.boolean(), (inputs, isSteered) => {
      let life = beginLife();
      const before: Input[] = [{ type: "dequeued" }, ...(isSteered ? [{ type: "steer_requested" } as const] : [])];
      for (const input of [...before, ...ALL_INPUTS.filter(({ type }) => type === "process_started")]) {
        ({ life } = step(life, input));
      }
      // Without a turn that steers, a step boundary is nothing.
      const [first] = inputs.filter(({ type }) => isSteered || type !== "step_boundary");
      for (const input of inputs) ({ life } = step(life, input));
      expect(life.stopReason).toBe(first === undefined ? undefined : reasonOf(first));
      expect(life.phase).toBe(first === undefined ? "running" : "stopping");
    }),
  );
});

test("where the session is deleted, the output of its process is abandoned, whatever stopped the turn before", () => {
  const [deletion] = ALL_INPUTS.filter(
    (input) => input.type === "stop_requested" && input.reason === "session_deleted",
  );
  if (deletion === undefined) throw new Error("no input deletes a session");
  for (const { next } of ALL.filter(({ next: { phase } }) => /^(queued|starting|running|stopping)$/.test(phase))) {
    const inputs = [
      deletion,
      { type: "dequeued" } as const,
      ...ALL_INPUTS.filter(({ type }) => type === "process_started"),
    ];
    let [life, abandoned] = [next, next.isSessionDeleted && next.phase === "stopping"];
    for (const input of inputs) {
      const { life: after, effects } = step(life, input);
      abandoned ||= effects.includes("abandon_output");
      life = after;
    }
    expect([next, abandoned]).toEqual([next, true]);
  }
});

test("a stop reason never changes but from turnd's shutdown to a request, where nothing runs, and is never taken back", () => {
  for (const { life, next, input } of ALL) {
    if (life.stopReason === undefined || life.stopReason === next.stopReason) continue;
    expect([life.stopReason, life.isReasonInherited]).toEqual(["shutdown", false]);
    expect(["queued", "starting", "postponed"]).toContain(next.phase);
    expect(["cancel", "session_deleted"]).toContain(next.stopReason);
    expect(reasonOf(input)).toBe(next.stopReason);
  }
});

test.each(["cancel", "session_deleted"] as const)(
  "a %s leaves no turn to the next start that has none yet",
  (reason) => {
    for (const { next: life } of ALL.filter(({ next: { phase } }) => /^(queued|starting|stopping)$/.test(phase))) {
      const after = receiveAll(life, [
        { type: "stop_requested", reason },
        { type: "process_ended", mayStartAfresh: true },
        { type: "dequeued" },
        { type: "start_given_up" },
      ]);
      expect([life, after.phase]).toEqual([life, "ending"]);
    }
  },
);

test("what is waited for before a process exists is given up exactly when a turn without one is stopped", () => {
  for (const { life, next, effects } of ALL) {
    const isStopped = life.stopReason === undefined && next.stopReason !== undefined;
    const hasNone = next.phase === "queued" || next.phase === "starting";
    // A session that is deleted besides: what is given up is given up.
    const isDeleted = !life.isSessionDeleted && next.isSessionDeleted;
    if (!isDeleted && !life.isSessionDeleted) expect(effects.includes("abort_start")).toBe(isStopped && hasNone);
    else if (effects.includes("abort_start")) expect(hasNone).toBe(true);
  }
});

test("the reason of a stop is saved before the signal", () => {
  const stops = ALL.filter(({ next, effects }) => effects.includes("stop_process") && next.stopReason !== undefined);
  expect(stops.length).toBeGreaterThan(0);
  // A halt and a refused event are no reasons of turnd's.
  for (const { input, life, effects } of stops) {
    if (life.stopReason === undefined && reasonOf(input) === undefined) continue;
    expect(effects.indexOf("save_if_possible")).toBe(effects.indexOf("stop_process") - 1);
  }
});

test("a lost resume is tried afresh once at most, and what was asked meanwhile ends the turn before a process starts", () => {
  const again = ALL.filter(
    ({ life, next }) => life.phase !== "queued" && next.phase === "starting" && life.phase !== "starting",
  );
  expect(again.length).toBeGreaterThan(0);
  for (const { life, next, effects } of again) {
    expect([life.isAfresh, next.isAfresh, life.stopReason, life.hasLogFailed]).toEqual([false, true, undefined, false]);
    expect([next.stopReason, effects.includes("abort_start")]).toEqual([
      life.pendingStop,
      life.pendingStop !== undefined,
    ]);
  }
});

/** A turn whose resume answered with another session, and whose process is being killed for that. */
const HALTED = receiveAll(beginLife(), [
  { type: "dequeued" },
  { type: "process_started", process: { stop() {}, abandonOutput() {} } },
  { type: "halted" },
]);

function receiveAll(life: Life, inputs: readonly Input[]): Life {
  return inputs.reduce((now, input) => step(now, input).life, life);
}

test.each(["cancel", "session_deleted", "shutdown"] as const)(
  "a %s that is requested while a halted resume is killed is not lost in the fresh start",
  (reason) => {
    const life = receiveAll(HALTED, [
      { type: "stop_requested", reason },
      { type: "process_ended", mayStartAfresh: true },
    ]);
    expect([life.phase, life.stopReason]).toEqual(["starting", reason]);
    expect(receiveAll(life, [{ type: "start_given_up" }]).phase).toBe(reason === "shutdown" ? "postponed" : "ending");
    // What the process did outweighs what was requested after it, where nothing takes its place.
    const over = receiveAll(HALTED, [
      { type: "stop_requested", reason },
      { type: "process_ended", mayStartAfresh: false },
    ]);
    expect([over.phase, over.stopReason]).toEqual(["ending", undefined]);
  },
);

test("a stop that is requested in any phase lets no process run on, not even a fresh one", () => {
  const [processStarted] = ALL_INPUTS.filter(({ type }) => type === "process_started");
  if (processStarted === undefined) throw new Error("no input starts a process");
  for (const { next } of ALL) {
    const life = receiveAll(next, [
      { type: "stop_requested", reason: "cancel" },
      { type: "process_ended", mayStartAfresh: true },
      { type: "dequeued" },
      processStarted,
    ]);
    expect([next, life.phase]).not.toEqual([next, "running"]);
  }
});

test("a steer that is withdrawn before it stopped its turn is as if it had not been", () => {
  for (const { life, next, effects } of ALL.filter(({ input }) => input.type === "steer_requested")) {
    const withdrawn = step(next, { type: "steer_withdrawn" });
    const isWithdrawn = !life.isSteered && next.isSteered;
    expect([life, effects]).toEqual([life, isWithdrawn ? ["start_steer_timer"] : []]);
    if (isWithdrawn) expect(withdrawn).toEqual({ life, effects: ["clear_steer_timer"] });
  }
  // One that has stopped it is not taken back: a reason that is given holds.
  const steers = ALL.filter(
    ({ input, life, next }) => reasonOf(input) === "steer" && life.stopReason !== next.stopReason,
  );
  expect(steers.length).toBeGreaterThan(0);
  for (const { next } of steers) expect(step(next, { type: "steer_withdrawn" }).life.stopReason).toBe("steer");
});

test("a turn that steers while a halted resume is killed is kept in the fresh start", () => {
  const afresh: Input = { type: "process_ended", mayStartAfresh: true };
  const steered = step(HALTED, { type: "steer_requested" });
  expect(steered.effects).toEqual(["start_steer_timer"]);
  expect(receiveAll(steered.life, [afresh])).toMatchObject({ phase: "starting", isSteered: true });
  const waited = receiveAll(steered.life, [{ type: "steer_wait_over" }, afresh]);
  expect(waited).toMatchObject({ phase: "starting", stopReason: "steer" });
});
