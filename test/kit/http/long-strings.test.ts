import fastify from "fastify";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { limitBodies } from "../../../src/kit/http/body-limits.ts";
import { registerJsonBody } from "../../../src/kit/http/json-body.ts";
import { scanJson } from "../../../src/kit/http/json-size.ts";
import { shortenJson } from "../../../src/kit/http/long-strings.ts";

const NO_LIMIT = { values: Infinity, depth: Infinity };
const REFUSED = Symbol("refused");
const parser = fastify().getDefaultJsonParser("error", "error");

function parseWhole(text: string): unknown {
  let parsed: unknown = REFUSED;
  void parser({} as never, text, (error, value) => (parsed = error === null ? value : REFUSED));
  return parsed;
}

/** As a body is parsed, but each string counts as a long one. */
function parseShortened(text: string): unknown {
  const body = Buffer.from(text);
  const { text: shortened, restore } = shortenJson(body, scanJson(body, NO_LIMIT, 1).longStrings);
  const parsed = parseWhole(shortened);
  return parsed === REFUSED ? REFUSED : restore(parsed);
}

/** With the order of names, which `toEqual` does not look at. A body that is no UTF-8 never comes so far. */
function expectSame(anyText: string): void {
  const text = anyText.toWellFormed();
  const expected = parseWhole(text);
  const parsed = parseShortened(text);
  expect(parsed).toEqual(expected);
  if (expected !== REFUSED) expect(JSON.stringify(parsed)).toBe(JSON.stringify(expected));
}

const name = fc.constantFrom('"a"', '"b"', '"1"', '"__proto__"', '"constructor"', '"prototype"', String.raw`"\u0061"`);
const blank = fc.constantFrom("", "", " ", "\n", "\t", "\r\n ");
const word = fc.oneof(
  fc.string().map((text) => JSON.stringify(text)),
  fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)),
  fc.constantFrom("1", "-2.5e3", "true", "null", '"plain"', '"é"', String.raw`"\n"`, String.raw`"a\"b"`, '"\u007f"'),
);
/** Valid texts, in which a name may be there twice. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    word,
    fc
      .tuple(blank, fc.array(tie("text")), blank)
      .map(([before, items, after]) => `[${before}${items.join(",")}${after}]`),
    fc
      .array(fc.tuple(name, blank, blank, tie("text")))
      .map((pairs) => `{${pairs.map(([key, left, right, value]) => `${key}${left}:${right}${value}`).join(",")}}`),
  ),
}));
const piece = fc.oneof(
  fc.constantFrom('"', "\\", "{", "}", "[", "]", ":", ",", " ", "\n", "\u0000", "\ufeff", "é", "1", "null"),
  fc.constantFrom('"abc"', '"a\tb"', '"__proto__"', '"constructor"', '{"a":"x"}', String.raw`"\u0022"`),
);

test("a body is parsed the same with its long strings aside", () => {
  fc.assert(fc.property(jsonText, expectSame), { numRuns: 2_000 });
});

test("what is no JSON is refused the same with long strings aside", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => expectSame(pieces.join(""))),
    { numRuns: 5_000 },
  );
  // One byte of a valid text is another.
  fc.assert(
    fc.property(jsonText, fc.nat(), piece, (text, at, other) => {
      const place = at % (text.length + 1);
      expectSame(text.slice(0, place) + other + text.slice(place + 1));
    }),
    { numRuns: 2_000 },
  );
});

test("only a value of printable ASCII without escapes is set aside", () => {
  const long = "A".repeat(70_000);
  const left = (text: string): number => {
    const body = Buffer.from(text);
    return shortenJson(body, scanJson(body, NO_LIMIT).longStrings).text.length;
  };
  expect(left(`{"query":"é","a":"${long}","b":["${long}"]}`)).toBeLessThan(200);
  for (const whole of [`{"${long}" :1}`, `"${long}é"`, `"${long}\t"`, String.raw`"${long}\n"`, `"${long}`, `${long}"`])
    expect(left(whole)).toBe(whole.length);
});

test("a route has its long strings, and the refusals of a body", async () => {
  const app = fastify();
  onTestFinished(() => app.close());
  limitBodies(app, () => ({ bytes: 1_000_000, values: 100 }));
  registerJsonBody(app, (code, message) => Object.assign(new Error(message), { code, statusCode: 418 }));
  app.post("/", ({ body }) => ({ body }));
  const post = async (payload: string) => {
    const { statusCode, body } = await app.inject({
      method: "POST",
      url: "/",
      headers: { "content-type": "application/json" },
      payload,
    });
    return { statusCode, answer: JSON.parse(body) };
  };
  const value = { query: "ü", image: "A".repeat(100_000), more: ["B".repeat(200_000), { x: "C".repeat(65_536) }] };
  expect(await post(JSON.stringify(value))).toEqual({ statusCode: 200, answer: { body: value } });
  expect(await post(JSON.stringify(value.image))).toEqual({ statusCode: 200, answer: { body: value.image } });
  const broken = [`{"image":"${value.image}\n"}`, `{"image":"${value.image}"`, `{"__proto__":"${value.image}"}`];
  for (const text of broken) {
    const { statusCode, answer } = await post(text);
    expect([statusCode, answer.code]).toEqual([400, "FST_ERR_CTP_INVALID_JSON_BODY"]);
  }
});
