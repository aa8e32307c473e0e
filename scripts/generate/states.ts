import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { STATE_MACHINES, type StateMachine } from "./state-machines.ts";

/** The path of the document. */
export const STATES_PATH = join(import.meta.dirname, "../../docs/states.md");

/** `docs/states.md`, from the tables in `scripts/generate/state-machines.ts`. */
export function describeStates(): string {
  const head = `# States of the agent service

Made by \`npm exec -- node scripts/generate/states.ts\` from \`scripts/generate/state-machines.ts\`. A row never takes
another step: a test lets PostgreSQL record every change of a status while runs are played, and compares.
`;
  return [head, ...STATE_MACHINES.map(describeMachine)].join("\n");
}

function describeMachine({ table, title, states, transitions }: StateMachine): string {
  const ends = states.filter((state) => transitions.every(({ from }) => from !== state));
  const arrows = [
    ...transitions.map(({ from = "[*]", to, by }) => `    ${from} --> ${to} : ${by}`),
    ...ends.map((state) => `    ${state} --> [*]`),
  ];
  const rows = transitions.map(({ from = "–", to, by, when }) => `| \`${from}\` | \`${to}\` | ${by} | ${when} |`);
  return `## ${title}

Table \`${table}\`.

\`\`\`mermaid
stateDiagram-v2
${arrows.join("\n")}
\`\`\`

| from | to | by | when |
| --- | --- | --- | --- |
${rows.join("\n").replaceAll("`–`", "–")}
`;
}

if (import.meta.main) await writeFile(STATES_PATH, describeStates());
