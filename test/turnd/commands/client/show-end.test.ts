import { expect, test } from "vitest";
import { formatDuration } from "../../../../src/turnd/commands/client/show-end.ts";

test.each([
  [0, "0.0 s"],
  [1_249, "1.2 s"],
  [59_949, "59.9 s"],
  [59_960, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [200_000, "3 min 20 s"],
])("%i ms are %s", (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});
