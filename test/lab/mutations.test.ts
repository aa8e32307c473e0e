import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVICE_MUTATIONS } from "../../lab/mutations/service.ts";
import { TURND_MUTATIONS } from "../../lab/mutations/turnd.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const ALL = [...TURND_MUTATIONS, ...SERVICE_MUTATIONS];

test("each mutation has a name of its own, changes a text that stands once in its file, and names tests that are there", () => {
  expect(new Set(ALL.map(({ id }) => id)).size).toBe(ALL.length);
  const faults = ALL.flatMap(({ id, file, find, replace, caughtBy }) => {
    const path = join(REPOSITORY, file);
    const times = existsSync(path) ? readFileSync(path, "utf8").split(find).length - 1 : 0;
    const missing = caughtBy.filter((named) => !existsSync(join(REPOSITORY, named.split(" > ")[0] ?? "")));
    return times === 1 && find !== replace && missing.length === 0 ? [] : [{ id, times, missing }];
  });
  expect(faults).toEqual([]);
});
