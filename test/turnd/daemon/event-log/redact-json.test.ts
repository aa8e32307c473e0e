import fc from "fast-check";
import { expect, test } from "vitest";
import { redactJson, redactLine } from "../../../../src/turnd/daemon/event-log/redact-json.ts";
import { stringifyRedacted } from "../../../../src/turnd/daemon/event-log/redact-value.ts";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";

const NUMBER = "10485760";
const KEY = 'sk-"quoted"\\0123456789';
const STRING = /"(?:[^"\\]|\\.)*"/g;
const redact = createRedactor([NUMBER, KEY, "message", "completed", "true-ish"]);

test("numbers stay what they are, and strings and keys lose the secret", () => {
  const json = `{ "size":${NUMBER}, "a":[true, 1.50, ${NUMBER}.0, "x ${NUMBER}"], ${JSON.stringify(KEY)}: {"${NUMBER}":1} }`;
  expect(redactJson(json, redact)).toBe(
    `{ "size":${NUMBER}, "a":[true, 1.50, ${NUMBER}.0, "x [redacted]"], "[redacted]": {"[redacted] 2":1} }`,
  );
});

test("JSON quoted in a string loses the secret, however often it is quoted", () => {
  let value: unknown = { output: KEY };
  for (let depth = 0; depth < 3; depth += 1) {
    const json = JSON.stringify(value);
    expect(redactJson(json, redact)).toBe(JSON.stringify(JSON.parse(redactJson(json, redact))));
    expect(redactJson(json, redact)).not.toContain("0123456789");
    value = { output: JSON.stringify(value) };
  }
});

test("a secret is found as other programs escape it", () => {
  const odd = createRedactor(["a/b+c<d>&e=="]);
  for (const written of ["a\\/b+c<d>&e==", "a/b+c\\u003cd\\u003e\\u0026e==", "a%2Fb%2Bc%3Cd%3E%26e%3D%3D"]) {
    expect(odd(`x ${written} y`)).toBe("x [redacted] y");
    const json = JSON.stringify({ text: `x ${written} y` });
    expect(redactJson(json, odd)).toBe('{"text":"x [redacted] y"}');
  }
});

test("a secret is found where a program has escaped it by number, in a line and in what a line quotes", () => {
  const odd = createRedactor(["pässwörd+1'2"]);
  const units = Array.from("pässwörd+1'2", (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const python = "p\\u00e4ssw\\u00f6rd+1'2";
  const dotnet = "p\\u00E4ssw\\u00F6rd\\u002B1\\u00272";
  for (const written of [units.join(""), python, dotnet]) {
    expect(JSON.parse(`"${written}"`)).toBe("pässwörd+1'2");
    expect(redactLine(`{"text":"x ${written} y","size":1}`, odd)).toBe('{"text":"x [redacted] y","size":1}');
  }
  for (const written of [python, dotnet]) {
    const line = JSON.stringify({ output: `{"text":"x ${written} y"}` });
    expect(JSON.parse(redactLine(line, odd))).toEqual({ output: '{"text":"x [redacted] y"}' });
  }
  const clean = '{"text":"\\u00e4 \\ud83d \\ud83d\\ude00 \\\\u0041"}';
  expect(redactLine(clean, odd)).toBe(clean);
});

test("our own words stay where a secret is one, and what others gave as a reason does not", () => {
  const own = createRedactor(["not_json", "execute"]);
  expect(stringifyRedacted({ reason: "not_json", modes: ["execute"], line: "execute" }, own)).toBe(
    '{"reason":"not_json","modes":["execute"],"line":"[redacted]"}',
  );
  expect(stringifyRedacted({ reason: "it is not_json" }, own)).toBe('{"reason":"it is [redacted]"}');
});

test("whatever a value holds, what is rendered is JSON with the same numbers, and has no secret in it", () => {
  const secret = fc.constantFrom(NUMBER, KEY, `${KEY}${NUMBER}`, JSON.stringify(KEY), "message");
  const text = fc.oneof(
    fc.string(),
    secret,
    fc.tuple(fc.string(), secret, fc.string()).map((parts) => parts.join("")),
  );
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.constant(Number(NUMBER)),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value")),
      fc.dictionary(text, tie("value"), { noNullPrototype: true }),
    ),
  })).value;
  fc.assert(
    fc.property(value, (given) => {
      const json = JSON.stringify(given);
      const redacted = redactJson(json, redact);
      const withoutStrings = (of: string): string => of.replaceAll(STRING, '""');
      expect(withoutStrings(redacted)).toBe(withoutStrings(json));
      expect(() => JSON.parse(redacted)).not.toThrow();
      for (const token of redacted.match(STRING) ?? []) {
        expect(redact(String(JSON.parse(token)))).toBe(JSON.parse(token));
      }
      expect(redactJson(redacted, redact)).toBe(redacted);
    }),
  );
});

test("deep nesting is no matter", () => {
  const depth = 200_000;
  const json = `${"[".repeat(depth)}"${NUMBER}"${"]".repeat(depth)}`;
  expect(redactJson(json, redact)).toBe(`${"[".repeat(depth)}"[redacted]"${"]".repeat(depth)}`);
});

test("a line that is no JSON is searched as text", () => {
  expect(redactLine(`[info] max ${NUMBER}\n`, redact)).toBe("[info] max [redacted]\n");
  expect(redactLine(`{"cut":${NUMBER},"x":"`, redact)).toBe('{"cut":[redacted],"x":"');
  expect(redactLine(`{"max":${NUMBER},"x":"${NUMBER}"}\n`, redact)).toBe(`{"max":${NUMBER},"x":"[redacted]"}\n`);
});

test("of a value of our own the words of ours stay, whatever stands for a key", () => {
  const data = {
    status: "completed",
    message: "completed with the message",
    turn_id: "turn-message",
    input: { message: 1, status: "completed" },
    sizes: [Number(NUMBER)],
  };
  expect(JSON.parse(stringifyRedacted(data, redact))).toEqual({
    status: "completed",
    message: "[redacted] with the [redacted]",
    turn_id: "turn-message",
    input: { "[redacted]": 1, status: "[redacted]" },
    sizes: [Number(NUMBER)],
  });
});
