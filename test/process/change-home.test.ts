import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changeHome } from "../../src/daemon/process/user-files/change-home.ts";
import { listProcesses, readArguments } from "../../src/daemon/process/keeper/process-table.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const writer = { runAs: CLI_USER };

test("a home that takes for ever to be written is given up with its writer when the signal aborts", async () => {
  const stopping = new AbortController();
  const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
  const commands = Array.from({ length: 5_000 }, (_, at) => ({ do: "make" as const, path: `${at}/below` }));
  const changing = changeHome(writer, home, commands, stopping.signal);
  const helpers = (): number[] => helpersOf(process.pid);
  await waitFor("the writer's first work", () => existsSync(join(home, "0/below")));
  // A tool of the same user can stop it.
  for (const pid of helpers().flatMap(helpersOf)) process.kill(pid, "SIGSTOP");
  stopping.abort(new Error("enough"));
  await expect(changing).rejects.toThrow("enough");
  expect(helpers()).toEqual([]);
});

function helpersOf(parent: number): number[] {
  return listProcesses().flatMap(({ pid, parentPid }) =>
    parentPid === parent && readArguments(pid)?.startsWith("turnd-helper") === true ? [pid] : [],
  );
}

test.runIf(!CLI_USER.isSelf)(
  "a home is entered with its user's rights: no link leads where that user could not go",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const inner = userDirectory(join(directory, "roots/inner"));
    chmodSync(join(directory, "roots"), 0o700);
    const home = join(userDirectory(join(directory, "users")), "home");
    symlinkSync(inner, home);
    await expect(changeHome(writer, home, [{ do: "make", path: "tmp" }])).rejects.toThrow("Permission denied");
    expect(existsSync(join(inner, "tmp"))).toBe(false);
  },
);

test("a home that a tool has closed is opened again", async () => {
  const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
  mkdirSync(join(home, "tmp"));
  chmodSync(home, 0);
  await changeHome(writer, home, [{ do: "make", path: "made" }]);
  expect(existsSync(join(home, "made"))).toBe(true);
});
