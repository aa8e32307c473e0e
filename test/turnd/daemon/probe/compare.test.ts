import { describe, expect, test } from "vitest";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import cliABaseline from "../../../../src/turnd/daemon/executors/cli-a/probe-baseline.json" with { type: "json" };
import cliBBaseline from "../../../../src/turnd/daemon/executors/cli-b/probe-baseline.json" with { type: "json" };
import { compare, type Change } from "../../../../src/turnd/daemon/probe/compare.ts";
import type { Baseline, Observation } from "../../../../src/turnd/daemon/probe/observation.ts";
import type { Finding } from "../../../../src/turnd/daemon/probe/probe.ts";
import { formatFinding, isBroken } from "../../../../src/turnd/daemon/probe/report.ts";
import { scenariosOf } from "../../../../src/turnd/daemon/probe/scenarios.ts";

const BASELINES: Readonly<Record<string, Baseline>> = { "cli-a": cliABaseline, "cli-b": cliBBaseline };

/** Changed by a test, in any way. */
type Json = ReturnType<typeof JSON.parse>;

/** What a change to the known version's own run of a scenario of CLI A comes to. */
function changesAfter(scenario: "edit" | "bad-key", change: (observation: Json) => void): Change[] {
  const cliA = EXECUTORS.find(({ id }) => id === "cli-a");
  const was: Observation = cliABaseline.scenarios[scenario];
  if (cliA === undefined) throw new Error("no CLI A");
  const is = structuredClone(was);
  change(is);
  return compare(cliA.records.known, was, is);
}

describe.each(EXECUTORS)("$id", ({ id, records, probe }) => {
  test("the baseline has every scenario, of the version whose shapes are known", () => {
    const baseline = BASELINES[id];
    expect(baseline?.version).toBe(records.known.version);
    expect(Object.keys(baseline?.scenarios ?? {})).toEqual(
      (probe === undefined ? [] : scenariosOf(probe)).map(({ name }) => name),
    );
  });

  test("compared with itself, nothing has changed", () => {
    const observations = Object.values(BASELINES[id]?.scenarios ?? {});
    expect(observations.flatMap((was) => compare(records.known, was, structuredClone(was)))).toEqual([]);
  });

  test("the scenarios show success, tools, and at least seven different failures", () => {
    const outcomes = Object.values(BASELINES[id]?.scenarios ?? {}).map(({ outcome }) => outcome);
    expect(outcomes.filter(({ status }) => status === "completed").length).toBeGreaterThan(7);
    expect(new Set(outcomes.map(({ code }) => code)).size).toBeGreaterThan(7);
  });
});

test("another verdict breaks us, another exit code with the same verdict does not", () => {
  expect(changesAfter("bad-key", ({ outcome }) => (outcome.code = "unknown"))).toEqual([
    { what: "outcome", subject: "code", was: "auth_failed", is: "unknown", breaks: true },
  ]);
  expect(changesAfter("bad-key", ({ outcome }) => (outcome.exit = "code 3"))).toEqual([
    { what: "outcome", subject: "exit", was: "code 1", is: "code 3", breaks: false },
  ]);
});

test("a missing field breaks us when the translator reads it, and is reported once", () => {
  expect(changesAfter("edit", ({ kinds }) => delete kinds.tool_use["part.callID"])).toEqual([
    { what: "field", subject: "tool_use part.callID", was: "string", breaks: true },
  ]);
  expect(changesAfter("edit", ({ kinds }) => delete kinds.text["part.time.end"])).toEqual([
    { what: "field", subject: "text part.time.end", was: "number", breaks: false },
  ]);
  const withoutTokens = changesAfter("edit", ({ kinds }) => {
    for (const path of Object.keys(kinds.step_finish)) {
      if (path.startsWith("part.tokens")) delete kinds.step_finish[path];
    }
  });
  expect(withoutTokens.map(({ subject, breaks }) => [subject, breaks])).toEqual([["step_finish part.tokens", true]]);
});

test("a field of another type breaks us when the translator reads it", () => {
  expect(changesAfter("edit", ({ kinds }) => (kinds.step_finish["part.cost"] = "null"))).toEqual([
    { what: "field", subject: "step_finish part.cost", was: "number", is: "null", breaks: true },
  ]);
  expect(
    changesAfter("edit", ({ kinds }) => (kinds.text["part.time.end"] = "string")).map(({ breaks }) => breaks),
  ).toEqual([false]);
});

test("a record that is missing breaks us; new records and fields do not", () => {
  expect(changesAfter("bad-key", ({ kinds }) => delete kinds.error)).toEqual([
    { what: "type", subject: "error", was: "printed", breaks: true },
  ]);
  const added = changesAfter("bad-key", ({ kinds }) => {
    kinds.error["error.hint"] = "object";
    kinds.error["error.hint.text"] = "string";
    kinds.thought = { type: "string" };
  });
  expect(added).toEqual([
    { what: "field", subject: "error error.hint", is: "object", breaks: false },
    { what: "type", subject: "thought", is: "printed", breaks: false },
  ]);
});

test("a tool under another name is the same; one that ends otherwise breaks us, as does a missing event", () => {
  const renamed = changesAfter("edit", (observation) => {
    observation.tools = observation.tools.replace("edit edit completed", "change edit completed");
  });
  expect(renamed.map(({ subject, breaks }) => [subject, breaks])).toEqual([
    ["edit edit completed", false],
    ["change edit completed", false],
  ]);
  const failing = changesAfter("edit", (observation) => {
    observation.tools = observation.tools.replace("edit edit completed", "edit edit failed");
  });
  expect(failing.map(({ breaks }) => breaks)).toEqual([true, false]);
  expect(changesAfter("edit", (one) => (one.events = one.events.replace("message ", "")))).toEqual([
    { what: "event", subject: "message", was: "sent", breaks: true },
  ]);
});

/** A finding of one CLI, with these changes by scenario. */
function finding(scenarios: Finding["scenarios"]): Finding {
  return { executor: "cli-a", name: "cli-a", version: "9", binary: "/bin/cli-a", known_version: "1", scenarios };
}

const OUTCOME = { what: "outcome", subject: "code", was: "rate_limited", is: "unknown", breaks: true } as const;
const FIELD = { what: "field", subject: "text part.new", is: "string", breaks: false } as const;

test("the report is for a terminal: nothing that acts on it, and the count", () => {
  const harmless = finding([
    { scenario: "text", changes: [] },
    { scenario: "edit", changes: [{ what: "type", subject: "\u001b[2J", is: "printed", breaks: false }] },
  ]);
  expect(formatFinding(harmless).split("\n")).toEqual([
    "cli-a: cli-a 9 (/bin/cli-a) beside the recordings of 1",
    "  2 scenarios: 0 changes break turnd, 1 does not",
    "",
    "  CHANGED, and breaks nothing: kept in the recording",
    "    new type: ?[2J  [edit]",
    "",
  ]);
  expect(isBroken(harmless)).toBe(false);
  expect(isBroken({ ...harmless, fault: "not there", scenarios: [] })).toBe(true);
});

test("a change that many scenarios show is one line; what breaks comes first, with what to do", () => {
  const names = ["text", "edit", "todo", "plan", "quota"];
  const page = formatFinding(
    finding(names.map((scenario) => ({ scenario, changes: scenario === "quota" ? [FIELD, OUTCOME] : [FIELD] }))),
  ).split("\n");
  expect(page.slice(1, 6)).toEqual([
    "  5 scenarios: 1 change breaks turnd, 1 does not",
    "",
    "  BREAKS",
    "    other outcome: code is unknown, was rate_limited  [quota]",
    expect.stringContaining("turnd replay --explain"),
  ]);
  expect(page.slice(-2)).toEqual(["    new field: text part.new (string)  [text, edit, todo and 2 more]", ""]);
});
