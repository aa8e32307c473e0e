import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { REPOSITORY } from "../harness/temporary.ts";

test("a short soak finds no fault, and reports what it did", { timeout: 300_000 }, async () => {
  const args = [join(REPOSITORY, "lab/soak.ts"), "--seconds", "3", "--seed", "7"];
  const { exitCode, stdout, stderr } = await execa(process.execPath, args, { reject: false });
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toMatch(/^[1-9]\d* turns of 5 sessions/m);
  expect(stdout).toMatch(/^[1-9]\d* events, each read by two clients$/m);
  expect(stdout).toMatch(/^0 faults$/m);
});
