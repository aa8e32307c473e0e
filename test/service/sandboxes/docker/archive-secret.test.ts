import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { archiveSecret } from "../../../../src/service/sandboxes/docker/docker-engine.ts";

test("a secret's archive has one file, of root, that no other user reads", async () => {
  const archive = await archiveSecret("token", "of-the-sandbox\n");
  const list = execFileSync("tar", ["--list", "--verbose", "--numeric-owner"], { input: archive, encoding: "utf8" });
  expect(list).toMatch(/^-rw------- 0\/0 +15 \S+ \S+ token\n$/);
  expect(execFileSync("tar", ["--extract", "--to-stdout"], { input: archive, encoding: "utf8" })).toBe(
    "of-the-sandbox\n",
  );
});
