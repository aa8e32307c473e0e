import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execaSync } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { findProgram } from "../../../../src/turnd/daemon/process/find-program.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

function writeProgram(path: string, content: string): string {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, 0o755);
  return path;
}

const find = (explicit: string) =>
  findProgram({ name: "cli", explicit, searchPath: "", native: [{ path: "cli-native/cli" }] });

test("what is no file cannot be a program, whatever it is", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const pipe = join(directory, "pipe");
  execaSync("mkfifo", ["-m", "777", pipe]);
  expect(await find(directory)).toEqual({ ok: false, reason: `${directory} is a directory, not a program` });
  expect(await find(pipe)).toEqual({ ok: false, reason: `${pipe} is not a regular file` });
  expect(await find("/dev/null")).toEqual({ ok: false, reason: "/dev/null is not a regular file" });
  expect(await find(join(directory, "none"))).toMatchObject({ ok: false, reason: expect.stringMatching(/missing/) });
});

test("a directory of the program's name on PATH is passed by", async () => {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "first/cli"), { recursive: true });
  const path = writeProgram(join(directory, "second/cli"), "\x7fELF");
  const searchPath = `${join(directory, "first")}:${join(directory, "second")}`;
  expect(await findProgram({ name: "cli", searchPath, native: [] })).toEqual({ ok: true, path });
});

test("a Node script given by an explicit path is run as it is, with a warning", async () => {
  const script = writeProgram(join(temporaryDirectory(onTestFinished), "cli"), "#!/usr/bin/env node\n");
  const found = await find(script);
  expect(found).toMatchObject({ ok: true, path: script, warning: expect.stringMatching(/loses signals/) });
});

test("a Node wrapper with its native package beside it is that package, without a warning", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const script = writeProgram(join(directory, "node_modules/cli/bin/cli"), "#!/usr/bin/env node\n");
  const native = writeProgram(join(directory, "node_modules/cli-native/cli"), "\x7fELF");
  expect(await find(script)).toEqual({ ok: true, path: native });
});

test("another script given by an explicit path is run without a warning", async () => {
  const script = writeProgram(join(temporaryDirectory(onTestFinished), "cli"), "#!/bin/sh\n");
  expect(await find(script)).toEqual({ ok: true, path: script });
});
