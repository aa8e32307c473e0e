import { expect, test, vi } from "vitest";
import { runCommandLine, type Commands } from "../src/daemon/commands/command-line.ts";

/** Runs a command line whose commands do nothing but say what was asked of them. */
async function run(...args: string[]) {
  const asked: unknown[][] = [];
  const note =
    (name: string) =>
    async (...given: unknown[]) => {
      asked.push([name, ...given]);
      return 0 as const;
    };
  const commands: Commands = {
    serve: note("serve"),
    render: note("render"),
    doctor: note("doctor"),
    replay: note("replay"),
    record: note("record"),
    probe: note("probe"),
  };
  const printed = { out: "", err: "" };
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => Boolean((printed.out += String(text))));
  const err = vi.spyOn(process.stderr, "write").mockImplementation((text) => Boolean((printed.err += String(text))));
  try {
    return { exitCode: await runCommandLine(args, commands, ["cli-a", "cli-b"]), asked, ...printed };
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
}

test.each(["--help", "-h", "help", "serve --help", "serve -h", "render --help", "help render", "doctor --help"])(
  "`turnd %s` prints help and runs nothing",
  async (line) => {
    const { exitCode, asked, out, err } = await run(...line.split(" "));
    expect([exitCode, asked, err]).toEqual([0, [], ""]);
    expect(out).toMatch(/^Usage: turnd/);
  },
);

test("the version is printed", async () => {
  expect(await run("--version")).toMatchObject({
    exitCode: 0,
    asked: [],
    out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
});

test.each([
  ["serve extra", /extra|arguments/],
  ["render --force", /--force/],
  ["doctor --jsn", /--jsn/],
  ["bogus", /bogus/],
  ["--json", /--json/],
  ["replay", /recording/],
  ["replay --summary --explain x", /--explain/],
  ["record turn", /directory/],
  ["record turn directory more", /arguments/],
  ["probe cli-c", /cli-c/],
])("`turnd %s` is refused with 2, says why, and runs nothing", async (line, why) => {
  const { exitCode, asked, out, err } = await run(...line.split(" "));
  expect([exitCode, asked, out]).toEqual([2, [], ""]);
  expect(err).toMatch(why);
});

test.each([
  [[], ["serve"]],
  [["serve"], ["serve"]],
  [
    ["doctor", "--json"],
    ["doctor", { isJson: true }],
  ],
  [
    ["replay", "--summary", "a", "-"],
    ["replay", ["a", "-"], "summary"],
  ],
  [
    ["replay", "--explain", "a"],
    ["replay", ["a"], "decision"],
  ],
  [
    ["record", "turn", "directory"],
    ["record", "turn", "directory"],
  ],
  [
    ["probe", "cli-a", "--json"],
    ["probe", ["cli-a"], { isJson: true }],
  ],
])("%j runs %j", async (args, wanted) => {
  const { exitCode, asked } = await run(...args);
  expect([exitCode, asked[0]?.slice(0, wanted.length)]).toEqual([0, wanted]);
});
