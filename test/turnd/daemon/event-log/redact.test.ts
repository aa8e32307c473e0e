import { expect, test } from "vitest";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { toEvidence } from "../../../../src/turnd/daemon/executors/classification/rules.ts";

const SECRET = 'sk-"quoted"-0123456789';
const redact = createRedactor([SECRET, "short"]);

test("a secret is taken out plain, and as JSON escapes it once and twice", () => {
  const once = JSON.stringify({ text: SECRET });
  const twice = JSON.stringify({ text: once });
  expect(redact(`a ${SECRET} b`)).toBe("a [redacted] b");
  expect(JSON.parse(redact(once))).toEqual({ text: "[redacted]" });
  expect(JSON.parse(JSON.parse(redact(twice)).text)).toEqual({ text: "[redacted]" });
});

test("a short value is left alone, and a text without a secret is not changed", () => {
  expect(redact("short … and long enough…")).toBe("short … and long enough…");
});

test("no cut leaves the beginning of a secret, wherever it falls", () => {
  for (let before = 560; before <= 605; before += 1) {
    const { text } = toEvidence({ source: "stderr", line: 1, text: `${"x".repeat(before)}${SECRET}${"y".repeat(99)}` });
    const line = redact(JSON.stringify({ text }));
    expect(JSON.parse(line).text.length).toBeLessThanOrEqual(620);
    expect(line).not.toContain(JSON.stringify(SECRET.slice(0, 6)).slice(1, -1));
  }
});

test("every cut of a text is looked at", () => {
  expect(redact(`sk-"quot… and sk-"quoted"-01… and …`)).toBe("[redacted]… and [redacted]… and …");
});

test("any number of cuts costs no more than the text is long", () => {
  const token = `eyJhbGciOiJIUzI1NiJ9.${"x0".repeat(400)}`;
  const withToken = createRedactor([token]);
  const text = `eyJhbG${"…".repeat(4_000_000)}`;
  const start = performance.now();
  expect(withToken(text)).toBe(`[redacted]${"…".repeat(4_000_000)}`);
  expect(withToken("eyJhbGci…".repeat(100_000))).toBe("[redacted]…".repeat(100_000));
  // It was 10 µs a cut: 40 seconds in which the daemon did nothing else.
  expect(performance.now() - start).toBeLessThan(10_000);
});
