import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { runCommandLine } from "../src/turnd/commands/command-line.ts";
import { EXECUTORS } from "../src/turnd/daemon/executors/registry.ts";
import { expectPrinted, shownBehind } from "./harness/shown-block.ts";
import { REPOSITORY } from "./harness/temporary.ts";
import { replayNamed } from "./turnd/daemon/replay/replay-named.ts";
import { runCommand } from "./turnd/commands/client/commands.ts";

const listed = (...patterns: string[]): string[] =>
  execFileSync("git", ["ls-files", "--", ...patterns], { cwd: REPOSITORY, encoding: "utf8" })
    .trim()
    .split("\n");
const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
const DOCUMENTS = listed("*.md", ":!fixtures", ":!test", ":!docs/contracts").map((path) => ({
  path,
  text: read(path),
}));
const REPLAYING = read("docs/replaying.md");

/** The help of a command, as `turnd help` prints it. */
async function helpOf(...args: string[]): Promise<string> {
  let help = "";
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => Boolean((help += String(text))));
  const fail = (): never => expect.unreachable("help runs nothing");
  const host = { args: ["help", ...args], env: {}, exit: fail, sandboxDirectory: "", loadExecutors: fail };
  try {
    expect(await runCommandLine(host)).toBe(0);
    return help;
  } finally {
    out.mockRestore();
  }
}

/** Calls of turnd in blocks and in code within a sentence: the words behind its name, until the end of the command. */
function callsIn(text: string): string[] {
  const code = [...text.matchAll(/```sh\n([^]*?)```|`([^`\n]+)`/g)].map(([, block, span]) => block ?? span ?? "");
  return code.flatMap((commands) =>
    [...commands.matchAll(/(?:^|bin\/|\$\(|[|;&] *|exec (?:-- )?|<container> )turnd ((?:(?![|;&)#]).)*)/gm)].map(
      ([, words = ""]) => words.trim(),
    ),
  );
}

test("every command and option of turnd that a document names is one", async () => {
  const overview = await helpOf();
  const commands = new Set([...overview.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name));
  expect(commands.size).toBeGreaterThan(15);
  const helps = new Map<string, string>();
  for (const name of commands) helps.set(name, name === "help" ? overview : await helpOf(name));
  for (const name of ["list", "create", "delete"]) helps.set(`sessions ${name}`, await helpOf("sessions", name));
  for (const name of ["list", "get", "put", "delete"]) helps.set(`files ${name}`, await helpOf("files", name));
  const unknown: string[] = [];
  let count = 0;
  for (const { path, text } of DOCUMENTS) {
    for (const call of callsIn(text)) {
      count += 1;
      const [command = "", second = ""] = call.split(/[\s,]+/);
      // `turnd sandbox` is what the image is titled.
      if (command.startsWith("-") || command === "" || call === "sandbox") continue;
      const help = helps.get(`${command} ${second}`) ?? helps.get(command);
      if (help === undefined) unknown.push(`${path}: turnd ${call}`);
      const options = [...call.matchAll(/(?<=[\s[])--[a-z][a-z-]*/g)].map(([option]) => option);
      for (const option of options) {
        if (help !== undefined && !help.includes(option)) unknown.push(`${path}: turnd ${command} ${option}`);
      }
    }
  }
  expect(count).toBeGreaterThan(80);
  expect(unknown).toEqual([]);
});

test("every variable that a document names is read somewhere", () => {
  const sources = listed(
    "src",
    "scripts",
    "lab",
    "sandbox",
    "test/harness",
    "test/image",
    "test/service/harness",
    "*.sh",
    "*.yaml",
    "Dockerfile.*",
  )
    .filter((path) => !path.endsWith(".md"))
    .map(read)
    .join("\n");
  const prefixes = EXECUTORS.map(({ variablePrefix }) => variablePrefix).join("|");
  const name = new RegExp(`(?<![A-Z_])(?:TURND|SVC|${prefixes})_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_*…])`, "g");
  const unknown = DOCUMENTS.flatMap(({ path, text }) =>
    [...new Set(text.match(name))]
      // What an example sets or reads itself is its own.
      .filter((variable) => !new RegExp(`\\b${variable}\\b`).test(sources) && !text.includes(`process.env.${variable}`))
      .map((variable) => `${path}: ${variable}`),
  );
  expect(unknown).toEqual([]);
});

test("what docs/replaying.md shows of an explanation and of a difference is what is printed", async () => {
  const explained = /bin\/turnd replay --rules (fixtures\/cli-a\S+)/.exec(REPLAYING)?.[1] ?? "";
  const { printed } = await replayNamed([explained], { show: "decision", hasRules: true });
  expectPrinted(shownBehind(REPLAYING, `bin/turnd replay --rules ${explained}`), printed);
  const difference = /bin\/turnd (diff (\S+) (\S+))\n/.exec(REPLAYING) ?? [];
  const { exitCode, stdout } = await runCommand("", difference[1]?.split(" ") ?? []);
  expect(exitCode).toBe(1);
  expectPrinted(shownBehind(REPLAYING, `bin/turnd ${difference[1]}`), stdout);
});

test("README and sandbox/README.md give one size of the image", () => {
  const sizes = [read("README.md"), read("sandbox/README.md")].map((text) => text.match(/\b\d{3,4} MB\b/)?.[0]);
  expect(sizes[0]).toBe(sizes[1]);
});
