import { writeFileSync } from "node:fs";
import { EFFECTS, TRANSITIONS, type Transition } from "../../src/turnd/daemon/turns/lifecycle/table.ts";
import { INPUTS, type InputType } from "../../src/turnd/daemon/turns/lifecycle/inputs.ts";
import { PHASES } from "../../src/turnd/daemon/turns/lifecycle/life.ts";
import { joinBlocks, table } from "./reference-tables.ts";

/** The path of the document. */
export const LIFECYCLE_PATH = new URL("../../docs/lifecycle.md", import.meta.url);

const HEAD = [
  "# The life of a turn",
  "Made by `npm exec -- node scripts/generate/lifecycle.ts` from `src/turnd/daemon/turns/lifecycle/table.ts`.",
  'Only the owner of a turn, `src/turnd/daemon/turns/lifecycle/turn.ts`, changes the turn or its `turn.json`. All other code reads the turn, or sends it an input: `turn.send({ type: "watchdog_fired", reason })`. The first stop reason holds. It is on the disk before the process gets a signal, and a restart that finds it there ends the turn the same way. The shutdown of turnd is no stop reason yet for a turn of which nothing runs: that turn is left to the next start, and a cancel or the deletion of its session still ends it. Tests walk every state that can be reached and kill the daemon between any two steps (`test/turnd/daemon/turns/lifecycle`).',
];

/** `docs/lifecycle.md`, from the table of a turn's phases. */
export function describeLifecycle(): string {
  return joinBlocks([
    ...HEAD,
    [
      "```mermaid",
      "stateDiagram-v2",
      "    [*] --> queued",
      ...drawSteps(),
      "    ended --> [*]",
      "    postponed --> [*]",
      "```",
    ].join("\n"),
    table(
      ["phase", "meaning"],
      Object.entries(PHASES).map(([phase, meaning]) => [code(phase), meaning]),
    ),
    "The first row that fits is taken. An input that no row names for a phase changes nothing there.",
    table(["in", "on", "if", "becomes", "records", "effects"], TRANSITIONS.map(toRow)),
    table(
      ["input", "when"],
      Object.entries(INPUTS).map(([input, when]) => [code(input), when]),
    ),
    table(
      ["effect", "what the owner does"],
      Object.entries(EFFECTS).map(([effect, meaning]) => [code(effect), meaning]),
    ),
  ]);
}

/** One arrow between two phases, with all that leads along it. */
function drawSteps(): string[] {
  const arrows = new Map<string, InputType[]>();
  for (const { from, on, to } of TRANSITIONS) {
    for (const phase of to === undefined ? [] : from) {
      const arrow = `${phase} --> ${to}`;
      arrows.set(arrow, [...new Set([...(arrows.get(arrow) ?? []), ...on])]);
    }
  }
  return [...arrows].map(([arrow, inputs]) => `    ${arrow} : ${inputs.join("<br>")}`);
}

function toRow({ from, on, if: condition, to, notes = [], effects = [] }: Transition): string[] {
  return [
    from.map(code).join(", "),
    on.map(code).join(", "),
    condition ?? "",
    to === undefined ? "" : code(to),
    notes.map((note) => note.replaceAll("_", " ")).join(", "),
    effects.map(code).join(", "),
  ];
}

function code(name: string): string {
  return `\`${name}\``;
}

if (import.meta.main) writeFileSync(LIFECYCLE_PATH, describeLifecycle());
