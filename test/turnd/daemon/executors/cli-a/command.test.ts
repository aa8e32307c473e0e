import { expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { Invocation } from "../../../../../src/turnd/daemon/executors/contract/invocation.ts";

const SET = {
  CLI_A_API_KEY: "LAB-KEY-1234567890",
  CLI_A_MODEL: "m1",
  CLI_A_PROVIDER: "lab",
  CLI_A_BASE_URL: "http://127.0.0.1:8000/v1",
};
const SESSION = "ses_e02e5a526ffe2BVx71Fctcaay6";

function build(input: Partial<Invocation> = {}, env: Record<string, string> = SET): string[] {
  const result = cliA.configure({ env, cliName: "cli-a" });
  if (!result.ok) throw new Error(result.errors.join("; "));
  const { configuration } = result;
  return cliA.buildArgs({ mode: "execute", configuration, workspace: "/w", permissions: {}, images: [], ...input });
}

test("a first turn asks for the configured model and for no title", () => {
  expect(build()).toEqual([
    "run",
    "--format=json",
    "--print-logs",
    "--log-level=INFO",
    "--thinking",
    "--title=turn",
    "--model=lab/m1",
  ]);
});

test("a resume names its session", () => {
  expect(build({ resume: SESSION })).toContain(`--session=${SESSION}`);
});

test("a planning turn runs the plan agent, whatever agent is asked for", () => {
  expect(build({ mode: "plan", agent: "build" })).toContain("--agent=plan");
  expect(build({ agent: "review" })).toContain("--agent=review");
});

test("effort is the CLI's variant", () => {
  expect(build({ effort: "high" })).toContain("--variant=high");
});

test("images stand before an option, since their flag takes every word after it", () => {
  const args = build({ images: ["/a.png", "/b.png"] });
  expect(args.slice(1, 4)).toEqual(["--file=/a.png", "--file=/b.png", "--format=json"]);
});

test.each([
  ["m2", "lab/m2"],
  ["lab/m2", "lab/m2"],
  ["org/m2", "lab/org/m2"],
])("the model %s is asked for as %s", (model, asked) => {
  expect(build({ model })).toContain(`--model=${asked}`);
});

test.each([
  ["m2", "--model=a/m2"],
  ["b/m2", "--model=b/m2"],
  ["org/m2", "--model=a/org/m2"],
])("with a whole configuration the model %s is asked for as %s", (model, asked) => {
  const json = JSON.stringify({ model: "a/m1", provider: { a: {}, b: {} } });
  expect(build({ model }, { CLI_A_JSON: json })).toContain(asked);
});

test("without a configured model the CLI chooses", () => {
  expect(build({}, { CLI_A_JSON: "{}" }).some((arg) => arg.startsWith("--model"))).toBe(false);
});

test("no value is an argument of its own, so none can be taken for an option", () => {
  const args = build({ model: "-x", agent: "--share", effort: "-h", images: ["-y"] });
  expect(args.slice(1).every((arg) => arg.startsWith("--"))).toBe(true);
  expect(args).not.toContain("--share");
});

test.each([
  [SESSION, true],
  [`${SESSION}a`, false],
  ["ses_", false],
  ["not-an-id", false],
  ["", false],
])("%j has the form of a session id: %s", (id, isOne) => {
  expect(cliA.isNativeSessionId(id)).toBe(isOne);
});

test("the native binary that needs AVX2 is tried before the one that does not", () => {
  const paths = cliA.nativeBinaries("cli-a");
  const at = (path: string): number => paths.findIndex((candidate) => candidate.path === path);
  expect(paths[at("opencode-linux-x64/bin/opencode")]?.needs).toBe("avx2");
  expect(at("cli-a-linux-x64/bin/cli-a")).toBeGreaterThanOrEqual(0);
  expect(at("opencode-linux-x64/bin/opencode")).toBeLessThan(at("opencode-linux-x64-baseline/bin/opencode"));
});
