import { readFileSync, writeFileSync } from "node:fs";
import { EFFECTS, TRANSITIONS, type Transition } from "../../src/turnd/daemon/turns/lifecycle/table.ts";
import { INPUTS, type InputType } from "../../src/turnd/daemon/turns/lifecycle/inputs.ts";
import { PHASES } from "../../src/turnd/daemon/turns/lifecycle/life.ts";
import { table } from "./reference-tables.ts";

/** The document that shows the life of a turn, between two marks. */
export const ARCHITECTURE_PATH = new URL("../../ARCHITECTURE.md", import.meta.url);

const BEGIN = "<!-- Made by `npm exec -- node scripts/generate/lifecycle.ts`; a test fails when it is stale. -->";
const END = "<!-- End of what is made. -->";

/** A document with the life of a turn as the table has it now. @throws {Error} if it lacks the two marks */
export function withLifecycle(document: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`the document has no "${BEGIN}" before "${END}"`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${renderLifecycle()}\n\n${document.slice(end)}`;
}

function renderLifecycle(): string {
  return [
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
  ].join("\n\n");
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

if (import.meta.main) writeFileSync(ARCHITECTURE_PATH, withLifecycle(readFileSync(ARCHITECTURE_PATH, "utf8")));
