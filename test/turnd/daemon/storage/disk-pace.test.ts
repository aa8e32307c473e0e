import { expect, test } from "vitest";
import { createDiskPace } from "../../../../src/turnd/daemon/storage/disk-pace.ts";

/** A disk of which each step takes what it is set to, where it is done in this thread; and where the last one was done. */
function diskOf() {
  let clock = 0;
  const pace = createDiskPace(() => clock);
  return {
    takesMs: 0,
    wait(ms: number) {
      clock += ms;
    },
    async step(fails = false): Promise<"here" | "there"> {
      return pace.step<"here" | "there">(
        () => {
          clock += this.takesMs;
          if (fails) throw new Error("ENOSPC");
          return "here";
        },
        async () => "there",
      );
    },
  };
}

test("steps are done in turnd's own thread while the disk is quick", async () => {
  const disk = diskOf();
  for (let at = 0; at < 100; at += 1) {
    disk.takesMs = 4;
    expect(await disk.step()).toBe("here");
  }
});

test("a step that is tried here alone is left undone while the disk is slow", () => {
  let clock = 0;
  const pace = createDiskPace(() => clock);
  let done = 0;
  const slow = (): void => {
    done += 1;
    clock += 200;
  };
  expect([pace.tryHere(slow), pace.tryHere(slow), done]).toEqual([true, false, 1]);
  clock += 10_000;
  expect([pace.tryHere(slow), done]).toEqual([true, 2]);
});

test("one slow step sends those behind it to another thread for a while, also where it failed", async () => {
  const disk = diskOf();
  disk.takesMs = 200;
  expect(await disk.step()).toBe("here");
  expect(await disk.step()).toBe("there");
  disk.wait(9_000);
  expect(await disk.step()).toBe("there");
  disk.wait(1_000);
  disk.takesMs = 0;
  expect(await disk.step()).toBe("here");
  disk.takesMs = 200;
  await expect(disk.step(true)).rejects.toThrow("ENOSPC");
  expect(await disk.step()).toBe("there");
});

test("a disk that stays slow holds up this thread a few times an hour, and one that has become quick is used as before", async () => {
  const disk = diskOf();
  disk.takesMs = 200;
  let here = 0;
  for (let second = 0; second < 3_600; second += 1) {
    for (let at = 0; at < 50; at += 1) if ((await disk.step()) === "here") here += 1;
    disk.wait(1_000);
  }
  expect(here).toBeGreaterThan(3);
  expect(here).toBeLessThan(15);
  disk.takesMs = 0;
  disk.wait(600_000);
  expect(await disk.step()).toBe("here");
  disk.wait(3_600_000);
  disk.takesMs = 200;
  expect(await disk.step()).toBe("here");
  disk.wait(10_000);
  expect(await disk.step()).toBe("here");
});
