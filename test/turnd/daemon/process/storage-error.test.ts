import { getSystemErrorMap } from "node:util";
import { expect, test } from "vitest";
import { isFull, isStorageError } from "../../../../src/turnd/daemon/storage/storage-error.ts";

/** An error as Node makes it of a system call that failed. */
function systemError(errno: number, syscall: string): Error {
  const [code] = getSystemErrorMap().get(-errno) ?? [`Unknown system error -${errno}`];
  return Object.assign(new Error(`${code}: ${syscall}`), { errno: -errno, code, syscall });
}

test.each([
  { name: "EIO", errno: 5, full: false },
  { name: "ENOSPC", errno: 28, full: true },
  { name: "EROFS", errno: 30, full: false },
  { name: "EBADMSG", errno: 74, full: false },
  { name: "ESTALE", errno: 116, full: false },
  { name: "EUCLEAN", errno: 117, full: false },
  { name: "EDQUOT", errno: 122, full: true },
])("$name of the disk is known for one, whether or not Node has a name for it", ({ errno, full }) => {
  expect(isStorageError(systemError(errno, "write"))).toBe(true);
  expect(isFull(systemError(errno, "write"))).toBe(full);
});

test("a program that is not there, or an error that is no disk's, is none", () => {
  expect(isStorageError(systemError(2, "spawn /no/program"))).toBe(false);
  expect(isStorageError(systemError(104, "read"))).toBe(false);
  expect(isStorageError(new Error("a bug"))).toBe(false);
});
