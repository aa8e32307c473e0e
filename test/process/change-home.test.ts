import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changeHome } from "../../src/daemon/process/user-files/change-home.ts";
import { processesNaming } from "../harness/processes.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

test("a home that takes for ever to be written is given up with its writer when the signal aborts", async () => {
  const mark = `slow-writer-${process.pid}`;
  const stopping = new AbortController();
  const home = userDirectory(temporaryDirectory(onTestFinished));
  const homeWriter = `sleep 3600; # ${mark}`;
  const changing = changeHome({ homeWriter, runAs: CLI_USER }, home, [{ do: "make", path: "tmp" }], stopping.signal);
  await waitFor("the writer", () => processesNaming(mark).length > 0);
  stopping.abort(new Error("enough"));
  await expect(changing).rejects.toThrow("enough");
  await waitFor("the writer's end", () => processesNaming(mark).length === 0);
});

const writer = { homeWriter: readFileSync(join(REPOSITORY, "sandbox/write-home"), "utf8"), runAs: CLI_USER };

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
