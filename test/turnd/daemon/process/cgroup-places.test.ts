import { expect, test } from "vitest";
import { locateGroups } from "../../../../src/turnd/daemon/process/cgroup/cgroup-places.ts";

const BOTH = ["pids", "memory"];
/** As `/proc/self/mountinfo` and `/proc/self/cgroup` have it, on a bare machine and in containers. */
const V1 = `16 32 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
14 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
20 41 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`;
const V2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";

function located(mounts: string, own: string): string[] {
  return locateGroups({ mounts, own }, BOTH).map(({ version, directory }) => `${version} ${directory}`);
}

test("in version 1 each hierarchy has a directory, whether or not version 2 is mounted beside it", () => {
  expect(located(V1, "8:pids:/\n4:memory:/a/b\n0::/\n")).toEqual([
    "1 /sys/fs/cgroup/pids",
    "1 /sys/fs/cgroup/memory/a/b",
  ]);
});

test("controllers that share a hierarchy share a directory", () => {
  const mounts = "16 32 0:36 / /sys/fs/cgroup/pids,memory rw - cgroup cgroup rw,memory,pids";
  expect(located(mounts, "8:pids,memory:/x\n")).toEqual(["1 /sys/fs/cgroup/pids,memory/x"]);
});

test("in a container the part that is mounted is turnd's own group", () => {
  const mounts = V1.replaceAll(" / /sys", " /docker/c1 /sys");
  expect(located(mounts, "8:pids:/docker/c1\n4:memory:/docker/c1/below\n")).toEqual([
    "1 /sys/fs/cgroup/pids",
    "1 /sys/fs/cgroup/memory/below",
  ]);
});

test("a mount that shows other groups than turnd's own is of no use", () => {
  const mounts = V1.replaceAll(" / /sys", " /docker/c1 /sys");
  expect(() => located(mounts, "8:pids:/docker/c10\n4:memory:/docker/c1\n")).toThrow(
    "turnd's own group /docker/c10 is not among the mounted ones of pids",
  );
});

test("version 2 is found below its own group, and a turnd that is in its leaf already finds the one above", () => {
  expect(located(V2, "0::/system.slice/turnd.service\n")).toEqual(["2 /sys/fs/cgroup/system.slice/turnd.service"]);
  expect(located(V2, "0::/system.slice/turnd.service/turnd.leaf\n")).toEqual([
    "2 /sys/fs/cgroup/system.slice/turnd.service",
  ]);
});

test("a group namespace's own root is distinguished from a group of a shared one", () => {
  const isWhole = (own: string) => locateGroups({ mounts: V2, own }, BOTH).map((place) => place.isWhole);
  expect([isWhole("0::/\n"), isWhole("0::/turnd.leaf\n"), isWhole("0::/a\n")]).toEqual([[true], [true], [false]]);
});

test("where a hierarchy or its mount is missing, the reason names it", () => {
  expect(() => located(V1, "8:pids:/\n0::/\n")).toThrow("no hierarchy of control groups has pids and memory");
  expect(() => located("", "8:pids:/\n4:memory:/\n")).toThrow("no file system of control groups is mounted for pids");
  expect(() => located("", "")).toThrow("no hierarchy of control groups has pids and memory");
});
