import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FAILURES_PATH, renderFailures } from "../../../scripts/generate/failures.ts";
import { REFERENCE_PATH, renderReference } from "../../../scripts/generate/reference.ts";
import { KEEPER_LOST, OWN_FAILURES } from "../../../src/turnd/daemon/turns/outcome/own-failure.ts";
import { VERSION } from "../../../src/turnd/daemon/version.ts";
import { SettingsSchema } from "../../../src/turnd/daemon/settings-schema.ts";
import { EVENT_DATA } from "../../../src/turnd/protocol/event-data.ts";
import { LoggedEvent, TurnEvent } from "../../../src/turnd/protocol/events.ts";
import { FAILURE_ADVICE } from "../../../src/turnd/protocol/failures.ts";
import { FailureCode } from "../../../src/turnd/protocol/index.ts";

test("docs/reference.md is that of the source; `node scripts/generate/reference.ts` makes it anew", () => {
  expect(readFileSync(REFERENCE_PATH, "utf8")).toBe(renderReference());
});

test("docs/failures.md is that of the tables; `node scripts/generate/failures.ts` makes it anew", () => {
  expect(readFileSync(FAILURES_PATH, "utf8")).toBe(renderFailures());
});

test.each(FailureCode.options)(
  "the failure table says who can give %s, and each recording it names is there",
  (code) => {
    const [, section = ""] = renderFailures().split(`\n### ${code}\n`);
    const rows = (section.split("\n## ", 1)[0]?.split("\n### ", 1)[0] ?? "").split("\n").slice(5);
    expect(rows.filter((row) => row.startsWith("| ")).length).toBeGreaterThan(0);
    for (const [, path = ""] of section.matchAll(/\]\(\.\.\/(fixtures\/[^)]+)\)/g))
      expect([path, existsSync(path)]).toEqual([path, true]);
  },
);

test("every failure that turnd reports by itself is in the table", () => {
  const directory = new URL("../../../src/turnd/daemon/turns/", import.meta.url);
  const sources = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(new URL(name, directory), "utf8"));
  const used = sources.flatMap((source) => [...source.matchAll(/ownFailure\(\s*"(\w+)"/g)].map(([, code]) => code));
  const listed = new Set([...Object.keys(OWN_FAILURES), KEEPER_LOST.code]);
  expect(used.filter((code) => !listed.has(code ?? ""))).toEqual([]);
  expect(used.length).toBeGreaterThan(5);
});

test("every event type is one of an event, before and after it is logged", () => {
  const types = Object.keys(EVENT_DATA).toSorted();
  for (const union of [TurnEvent, LoggedEvent])
    expect(union.options.map(({ shape }) => shape.type.value).toSorted()).toEqual(types);
});

test("every event type, failure code and setting stands in the reference", () => {
  const text = renderReference();
  const names = [...Object.keys(EVENT_DATA), ...Object.keys(FAILURE_ADVICE), ...Object.keys(SettingsSchema.shape)];
  expect(names.length).toBeGreaterThan(80);
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  for (const section of text.split("\n## ").slice(1)) expect(section.split("\n| ").length).toBeGreaterThan(5);
});

test("the version is that of package.json", () => {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  expect(VERSION).toBe(manifest.version);
});
