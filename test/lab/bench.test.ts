import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { listFigures, showFigures } from "../../lab/bench/figures.ts";
import { REPOSITORY } from "../harness/temporary.ts";

test("the bench has every measure that docs/performance.md names, and refuses others", async () => {
  const document = readFileSync(join(REPOSITORY, "docs/performance.md"), "utf8");
  const inTable = [...document.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, name = ""]) => name);
  const inCommands = [...document.matchAll(/npm run bench -- ([a-z0-9 -]*[a-z0-9])/g)].flatMap(([, names = ""]) =>
    names.split(" ").filter((name) => !name.startsWith("--")),
  );
  const named = [...new Set([...inTable, ...inCommands])];
  expect(named).toEqual(expect.arrayContaining(["latency", "start", "replay-2gb-a", "history", "peer"]));

  const program = join(REPOSITORY, "lab/bench.ts");
  const refused = await execa(process.execPath, [program, "latency", "no-such-measure"], { reject: false });
  expect([refused.exitCode, refused.stdout]).toEqual([2, ""]);
  const measures = /^bench: no measure "no-such-measure"; there are (.*)$/.exec(refused.stderr)?.[1]?.split(" ") ?? [];
  expect(named.filter((name) => !measures.some((each) => each === name || each.startsWith(`${name}-`)))).toEqual([]);
});

test("a program gets the same figures as a person, and whether a ratio holds its target", () => {
  const figure = { measure: "burst", turnd: "9 events/s", yardstick: "10 lines/s", ratio: 0.9 };
  const figures = [
    { ...figure, target: ">= 0.50" },
    { ...figure, target: "<= 0.50" },
    { ...figure, target: "<= 5 ms" },
    figure,
  ];
  const listed = listFigures(figures);
  expect(listed.map(({ held }) => held)).toEqual([true, false, undefined, undefined]);
  expect(listed).toMatchObject(figures);
  const rows = showFigures(figures).split("\n").slice(2);
  expect(rows.map((row) => row.split("|").at(-2)?.trim())).toEqual(["yes", "no", "", ""]);
});
