import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { endingWithParent } from "../../lab/matrix/await-exit.ts";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { CLI_USER, REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Starts a command as the recording of the matrix does, prints its pid, and lives on. */
const PARENT = `
import { spawn } from "node:child_process";
const [program, ...words] = JSON.parse(process.argv[1]);
console.log(spawn(program, words, { stdio: "ignore" }).pid);
setInterval(() => {}, 1000);
`;

test.each([
  ["as it is", ["sleep", "600"]],
  ["as the CLIs' user", asUser(CLI_USER, ["sleep", "600"])],
])("a CLI that is recorded ends with what records it, also when that is killed: %s", async (_title, command) => {
  const given = JSON.stringify(endingWithParent(command));
  const parent = spawn(process.execPath, ["--input-type=module", "-e", PARENT, given], {
    cwd: REPOSITORY,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: parent.stdout }), "line");
  const child = `/proc/${String(line)}`;
  await waitFor("the command", () => readFileSync(`${child}/comm`, "utf8") === "sleep\n");
  expect(parent.exitCode).toBe(null);
  parent.kill("SIGKILL");
  await waitFor("its end", () => !existsSync(child));
});
