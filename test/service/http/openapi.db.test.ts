import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeService } from "../../../src/service/commands/openapi.ts";
import { VERSION } from "../../../src/service/version.ts";
import { REPOSITORY } from "../../harness/temporary.ts";

test("openapi.service.json is that of this version: `node src/service/main.ts openapi > openapi.service.json`", async () => {
  const committed: unknown = JSON.parse(readFileSync(join(REPOSITORY, "openapi.service.json"), "utf8"));
  expect(JSON.parse(JSON.stringify(await describeService(VERSION)))).toEqual(committed);
  expect(VERSION).toBe(JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")).version);
});
