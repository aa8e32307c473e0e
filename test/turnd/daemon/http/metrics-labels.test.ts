import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/turnd/daemon/http/routes/metrics.ts";

async function labelsOf(versions: readonly (string | undefined)[]): Promise<Set<string>> {
  const { observer, registry } = createMetrics();
  for (const cliVersion of versions) {
    observer.turnEnded({
      executor: "replay",
      status: "completed",
      code: undefined,
      durationMs: 1,
      cliVersion,
      unknownRecords: 1,
      usage: undefined,
    });
  }
  const text = await registry.metrics();
  return new Set(
    [...text.matchAll(/turnd_records_unknown_total\{.*cli_version="([^"]*)"\}/g)].map(([, label]) => label ?? ""),
  );
}

test("the versions of recordings make no more series than a few", async () => {
  const versions = Array.from({ length: 1_000 }, (_, index) => `1.2.${index}`);
  const labels = await labelsOf(versions);
  expect(labels.size).toBe(21);
  expect(labels.has("other")).toBe(true);
});

test("a version is its three numbers, and what is none has no series of its own", async () => {
  const labels = await labelsOf([
    "0.139.0",
    "0.139.0-alpha.7+long",
    "x".repeat(500),
    `1.2.${"9".repeat(50)}`,
    undefined,
  ]);
  expect([...labels].toSorted()).toEqual(["0.139.0", "other", "unknown"]);
});
