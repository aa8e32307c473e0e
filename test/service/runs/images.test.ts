import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/service/agents/manifest.ts";
import { assertImagesFit, readImage } from "../../../src/service/runs/submit/images.ts";
import { intentHash } from "../../../src/service/runs/submit/intake.ts";

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const URL_HEAD = "data:image/png;base64,";
const png = (bytes: number): string => Buffer.concat([PNG, Buffer.alloc(bytes, 0xa7)]).toString("base64");

test("an image is a data URL of what it is, however its base64 is written", () => {
  for (const bytes of [0, 1, 2, 3, 49_143, 49_144, 49_145, 200_000]) {
    const base64 = png(bytes);
    const url = URL_HEAD + base64;
    const broken = (base64.match(/.{1,76}/g) ?? []).join("\r\n");
    const written = [
      base64,
      url,
      `data:;base64,${base64}`,
      `data:image/gif;charset=x;base64,${base64}`,
      URL_HEAD + broken,
      " ".repeat(5_000) + base64,
      base64.replace(/=+$/, ""),
    ];
    for (const content of written) expect(readImage(content) === url, content.slice(0, 60)).toBe(true);
  }
});

test.each([
  ["a character of none", (base64: string) => `${base64.slice(0, 70_000)}*${base64.slice(70_001)}`],
  ["the alphabet of URLs", (base64: string) => `${base64.slice(0, 70_000)}-${base64.slice(70_001)}`],
  ["padding in its middle", (base64: string) => `${base64.slice(0, 65_534)}==${base64.slice(65_536)}`],
  ["a character whose low byte is a letter", (base64: string) => `${base64.slice(0, 70_000)}Ł${base64.slice(70_001)}`],
])("%s is no base64", (_what, change) => {
  const base64 = png(100_000);
  expect(() => readImage(change(base64))).toThrow("the image is not base64");
  expect(() => readImage(URL_HEAD + change(base64))).toThrow("the image is not base64");
});

test("10 MiB of images fit, and not a byte more", () => {
  const most = 10 * 1_048_576 - PNG.length;
  expect(() => assertImagesFit([readImage(png(most))])).not.toThrow();
  expect(() => assertImagesFit([readImage(png(most + 1))])).toThrow("at most 10485760 bytes of images");
  expect(() => assertImagesFit([readImage(png(most)), readImage(png(0))])).toThrow("at most 10485760 bytes of images");
});

test("a request is the SHA-256 of its canonical JSON, with its images", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('"input":{"images":[', '","input":{"images":["x"]', "é"));
  const intent = fc.record({
    source: fc.constant("chat" as const),
    requestId: text,
    threadId: text,
    agentSlug: text,
    input: fc.record(
      {
        query: text,
        images: fc.array(fc.base64String().map((base64) => URL_HEAD + base64)),
        resume: fc.dictionary(text, fc.jsonValue()),
        parent_run_id: text,
      },
      { requiredKeys: ["query", "images"] },
    ),
    options: fc.record({ model_spec: text, meta: fc.dictionary(text, fc.jsonValue()) }, { requiredKeys: [] }),
    queuePolicy: fc.constantFrom("enqueue" as const, "reject" as const),
    makesThread: fc.boolean(),
    traceparent: fc.constant(undefined),
  });
  fc.assert(
    fc.property(intent, (given) => {
      const { source, threadId, agentSlug, input, options, queuePolicy } = given;
      const whole = canonicalJson({ source, threadId, agentSlug, input, options, queuePolicy });
      expect(intentHash(given).toString("hex")).toBe(createHash("sha256").update(whole).digest("hex"));
    }),
    { numRuns: 500 },
  );
});
