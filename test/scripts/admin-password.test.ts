import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makePassword } from "../../scripts/service/admin-password.ts";
import { runService } from "../harness/npm-service.ts";
import { CLI_USER, temporaryDirectory } from "../harness/temporary.ts";

const IS_ROOT = process.getuid?.() === 0;

test("a password is made once, in a file of its owner's alone, and its draft is gone", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const path = join(directory, "admin-password");
  expect(await makePassword(path)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await makePassword(path)).toBe(false);
  expect(readdirSync(directory)).toEqual(["admin-password"]);
});

test("a directory that all users share gets neither lock nor password nor its draft", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "shared");
  mkdirSync(directory);
  chmodSync(directory, 0o1777);
  const { exitCode, all } = await runService(directory);
  expect([exitCode, all]).toEqual([1, expect.stringContaining("all users share")]);
  expect(readdirSync(directory)).toEqual([]);
});

test.runIf(IS_ROOT)("nor does one that another user owns", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "foreign");
  mkdirSync(directory);
  chownSync(directory, CLI_USER.uid, CLI_USER.gid);
  const { exitCode, all } = await runService(directory);
  expect([exitCode, all]).toEqual([1, expect.stringContaining(directory)]);
  expect(readdirSync(directory)).toEqual([]);
});
