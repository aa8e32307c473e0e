import { expect, test } from "vitest";
import { createDriftCount } from "../../../../src/turnd/commands/drift-report.ts";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";

test("a secret in an unknown type is taken out before signs that a terminal may act on are", () => {
  const executor = findExecutor("cli-b");
  if (executor === undefined) throw new Error("no cli-b");
  const count = createDriftCount();
  const record = { type: "päss+w0rd1" };
  count.watch(executor, "0.139.0", "a")(record, 1);
  const text = count.format(createRedactor(["päss+w0rd1"]));
  expect(text).toContain("[redacted]");
  expect(text).not.toContain("w0rd1");
});
