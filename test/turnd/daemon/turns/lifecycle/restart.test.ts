import fc from "fast-check";
import { expect, test } from "vitest";
import { fileAfter, stopReasonIn } from "../../../../../src/turnd/daemon/turns/lifecycle/file-after.ts";
import type { Input } from "../../../../../src/turnd/daemon/turns/lifecycle/inputs.ts";
import { beginLife, type Life } from "../../../../../src/turnd/daemon/turns/lifecycle/life.ts";
import { step } from "../../../../../src/turnd/daemon/turns/lifecycle/table.ts";
import type { TurnFile } from "../../../../../src/turnd/daemon/turns/lifecycle/turn-file.ts";
import { admittedFile, ALL_INPUTS } from "./inputs.ts";

/** What is on the disk of a turn. */
interface Disk {
  readonly file: TurnFile;
  /** The keeper's `started` is there. */
  readonly hasProcess: boolean;
  readonly hasEnd: boolean;
}

/** A turn in a daemon that may be killed. */
interface World {
  readonly life: Life;
  readonly disk: Disk;
}

const NEW: World = { life: beginLife(), disk: { file: admittedFile(), hasProcess: false, hasEnd: false } };

function receive({ life, disk }: World, input: Input): World {
  const { life: next, effects } = step(life, input);
  let { file, hasProcess, hasEnd } = disk;
  for (const effect of effects) {
    if (effect === "save" || effect === "save_if_possible") file = fileAfter(file, next, input);
    if (effect === "attach_process") hasProcess = true;
    if (effect === "note_end" && input.type === "end_logged") hasEnd = true;
  }
  // Its files are set aside.
  if (next.phase === "starting" && life.phase !== "queued" && life.phase !== "starting") hasProcess = false;
  return { life: next, disk: { file, hasProcess, hasEnd } };
}

/** `kill -9`, and another start. */
function restart({ disk }: World): World {
  const { file, hasEnd } = disk;
  const life = beginLife({ stopReason: stopReasonIn(file), isAfresh: file.degraded !== undefined });
  return { life: hasEnd ? { ...life, phase: "ended" } : life, disk };
}

/** What the run of a turn does next, where nothing keeps it from running and its process ends by itself. */
function goOn({ life, disk }: World): Input[] {
  switch (life.phase) {
    case "queued":
      return [{ type: "dequeued" }];
    case "starting":
      if (disk.hasProcess) return STARTED;
      return life.stopReason === undefined ? [...PREPARED, ...STARTED] : [{ type: "start_given_up" }];
    case "running":
    case "stopping":
      return [{ type: "process_ended", mayStartAfresh: false }];
    case "ending":
      return [
        { type: "concluded", endedBy: life.stopReason ?? null, halted: undefined },
        { type: "end_logged", end: { status: "completed", at: "" } },
      ];
    case "ended":
    case "postponed":
      return [];
  }
}

const STARTED = ALL_INPUTS.filter(({ type }) => type === "process_started");
const PREPARED = ALL_INPUTS.filter(({ type }) => type === "prepared");

function toEnd(world: World): World {
  for (let inputs = goOn(world); inputs.length > 0; inputs = goOn(world)) {
    for (const input of inputs) world = receive(world, input);
  }
  return world;
}

/** What comes from outside of a run, or from its process. */
const fromOutside = fc.constantFrom<readonly Input[]>(
  ...ALL_INPUTS.filter(({ type }) =>
    /^(steer_.*|step_boundary|stop_requested|watchdog_fired|output_limit_reached|halted|log_failed|stop_done)$/.test(
      type,
    ),
  ).map((input) => [input]),
);
const moves = fc.array(
  fc.oneof(
    fromOutside.map((inputs) => ({ inputs, by: "outside" as const })),
    fc.constant({ inputs: [], by: "run" as const }),
  ),
  { maxLength: 25 },
);

function play(
  steps: readonly { readonly inputs: readonly Input[]; readonly by: "outside" | "run" }[],
  from: World = NEW,
): World[] {
  const worlds = [from];
  for (const { inputs, by } of steps) {
    const last = worlds.at(-1) ?? from;
    for (const input of by === "run" ? goOn(last) : inputs) worlds.push(receive(worlds.at(-1) ?? last, input));
  }
  return worlds;
}

test("a turn whose turnd is killed anywhere ends by the reason that is on the disk, or by itself", () => {
  fc.assert(
    fc.property(moves, (steps) => {
      for (const world of play(steps)) {
        const resumed = restart(world);
        const ended = toEnd(resumed);
        expect([ended.life.phase, ended.disk.hasEnd || world.life.phase === "ended"]).toEqual(["ended", true]);
        expect(ended.life.stopReason).toBe(stopReasonIn(world.disk.file));
        // Killed again on the way, as often as you like.
        expect(toEnd(restart(toEnd(restart(resumed)))).life.stopReason).toBe(ended.life.stopReason);
      }
    }),
    { numRuns: 500 },
  );
});

test("once a process was stopped, a kill changes nothing of how the turn ends", () => {
  fc.assert(
    fc.property(moves, (steps) => {
      for (const world of play(steps)) {
        if (world.life.phase !== "stopping") continue;
        const [on, resumed] = [toEnd(world), toEnd(restart(world))];
        expect(resumed.disk.file.ended_by).toBe(on.disk.file.ended_by);
      }
    }),
    { numRuns: 500 },
  );
});

test("a turn that was asked to end before anything of it ran starts no process after a restart", () => {
  const asked = toEnd(receive(NEW, { type: "stop_requested", reason: "cancel" }));
  // The reason is on the disk, the end is not.
  const world = restart({ ...asked, disk: { ...asked.disk, hasEnd: false } });
  const ended = toEnd(world);
  expect([world.life.stopReason, ended.life.phase, ended.disk.hasProcess]).toEqual(["cancel", "ended", false]);
});

test("a turn whose cancel came in time is never begun: not by this turnd, nor by the next", () => {
  const cancel: Input = { type: "stop_requested", reason: "cancel" };
  fc.assert(
    fc.property(moves, moves, (before, after) => {
      for (const world of play(before)) {
        if (world.disk.hasProcess || world.disk.hasEnd || !/^(queued|starting|postponed)$/.test(world.life.phase))
          continue;
        // What it was on its way to is given up, and its turnd goes on to its own end.
        const ended = toEnd(
          play(
            after.filter(({ by }) => by === "outside"),
            receive(world, cancel),
          ).at(-1) ?? world,
        );
        expect([ended.life.stopReason, toEnd(restart(ended)).disk.hasProcess]).toEqual([
          world.life.stopReason === undefined || world.life.stopReason === "shutdown"
            ? "cancel"
            : world.life.stopReason,
          false,
        ]);
      }
    }),
    { numRuns: 500 },
  );
});

test("a shutdown that an earlier turnd noted is an end, and no reason to wait for the next start", () => {
  const file = { ...admittedFile(), ended_by: "shutdown" as const };
  const ended = toEnd(restart({ life: beginLife(), disk: { file, hasProcess: false, hasEnd: false } }));
  expect([ended.life.phase, ended.disk.hasEnd]).toEqual(["ended", true]);
});
