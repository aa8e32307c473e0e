import { expect, test, vi } from "vitest";
import { nearest } from "../../../src/kit/command-line/nearest.ts";
import { runCommandLine } from "../../../src/turnd/commands/command-line.ts";

/** Runs a command line whose commands do nothing but count. */
async function run(...args: string[]) {
  let performed = 0;
  const printed = { out: "", err: "" };
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => Boolean((printed.out += String(text))));
  const err = vi.spyOn(process.stderr, "write").mockImplementation((text) => Boolean((printed.err += String(text))));
  const refuse = (): never => {
    throw new Error("nothing may be run");
  };
  const host = { args, env: {}, exit: refuse, sandboxDirectory: "/nowhere", loadExecutors: refuse };
  try {
    const exitCode = await runCommandLine(host, async () => {
      performed += 1;
      return 0;
    });
    return { exitCode, performed, ...printed };
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
}

const COMMANDS = [
  "serve",
  "run",
  "turns",
  "show",
  "tail",
  "cancel",
  "sessions",
  "render",
  "doctor",
  "replay",
  "record",
  "probe",
];

test.each([
  "--help",
  "-h",
  "help",
  "help help",
  "help --help",
  ...COMMANDS.flatMap((name) => [`help ${name}`, `${name} --help`, `${name} -h`]),
  // Help is asked for whatever else stands there.
  "record turn directory more --help",
])("`turnd %s` prints help and runs nothing", async (line) => {
  const { exitCode, performed, out, err } = await run(...line.split(" "));
  expect([exitCode, performed, err]).toEqual([0, 0, ""]);
  expect(out).toMatch(/^Usage: turnd/);
});

test.each(["--version", "-V"])("`turnd %s` prints the version", async (line) => {
  const { exitCode, performed, out } = await run(line);
  expect([exitCode, performed]).toEqual([0, 0]);
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  ["serve extra", /extra|arguments/],
  ["render --force", /--force/],
  ["doctor --jsn", /--jsn[^]*--json/],
  ["docter", /docter[^]*doctor/],
  ["bogus", /bogus/],
  ["help bogus", /bogus/],
  ["bogus --help", /bogus/],
  ["help relpay", /relpay[^]*replay/],
  ["--json", /--json/],
  ["replay", /recording/],
  ["replay --summary --explain x", /--explain/],
  ["record turn", /directory/],
  ["record turn directory more", /arguments/],
])("`turnd %s` is refused with 2 and a reason, and runs nothing", async (line, why) => {
  const { exitCode, performed, out, err } = await run(...line.split(" "));
  expect([exitCode, performed, out]).toEqual([2, 0, ""]);
  expect(err).toMatch(why);
  expect(err).toMatch(/^turnd: /);
});

test.each([[], ["serve"], ["doctor", "--json"], ["replay", "--summary", "a", "-"], ["record", "turn", "directory"]])(
  "%j is run",
  async (...args) => {
    expect(await run(...args)).toEqual({ exitCode: 0, performed: 1, out: "", err: "" });
  },
);

test.each([
  ["cli-c", ["cli-a", "cli-b"], "cli-a"],
  ["codx", ["opencode", "codex"], "codex"],
  ["TURND_PROT", ["TURND_PORT", "TURND_HOST"], "TURND_PORT"],
  ["TURND_MAX_TURN", ["TURND_MAX_TURNS", "TURND_MAX_SHELLS"], "TURND_MAX_TURNS"],
  ["nothing", ["serve"], undefined],
])("the name nearest to %s of %j is %s", (given, names, wanted) => {
  expect(nearest(given, names)).toBe(wanted);
});
