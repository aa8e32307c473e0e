import fc from "fast-check";
import { expect, test } from "vitest";
import { TOKEN_LENGTH, tokenize } from "../../../../src/service/knowledge/indexing/tokens.ts";

test("English words are stemmed, and stop words left out", () => {
  expect(tokenize("The foxes were running over the lazy dogs")).toEqual(["fox", "run", "lazi", "dog"]);
});

test("camelCase and digits give the whole and the parts", () => {
  expect(tokenize("parseHTTPHeader covid19 v2")).toEqual([
    "parsehttphead",
    "pars",
    "http",
    "header",
    "covid19",
    "covid",
    "19",
    "v2",
    "v",
    "2",
  ]);
});

test("snake_case, punctuation and blanks separate", () => {
  expect(tokenize("max_file_bytes=42;\n\tfoo-bar")).toEqual(["max", "file", "byte", "42", "foo", "bar"]);
});

test("scripts without blanks are cut into words", () => {
  expect(tokenize("北京大学的图书馆")).toEqual(["北京", "大学", "的", "图书", "馆"]);
  expect(tokenize("使用Node22运行服务")).toEqual(["使用", "node22", "node", "22", "运行", "服务"]);
  expect(tokenize("東京タワーへ行く")).toEqual(expect.arrayContaining(["東京タワー", "行く"]));
  expect(tokenize("ภาษาไทยง่ายมาก").length).toBeGreaterThan(1);
});

test("marks are stripped elsewhere, so that what is written without them finds it", () => {
  expect(tokenize("Café naïve Ångström")).toEqual(tokenize("cafe naive angstrom"));
  expect(tokenize("Привет, МИР")).toEqual(["привет", "мир"]);
  expect(tokenize("한국어")).toEqual(["한국어"]);
});

test("compatibility forms are one", () => {
  expect(tokenize("ｆｕｌｌ ﬁle Ⅻ")).toEqual(tokenize("full file XII"));
});

test("a lone mark gives no token", () => {
  expect(tokenize("\u0301 \u0489")).toEqual([]);
});

test.each(["a", "漢", "é", "7", "𠀀", "\u0301", "aB"])(
  "one word of 100 000 times %j is cut, and not slowly",
  (letter) => {
    const started = performance.now();
    const longest = tokenize(letter.repeat(100_000)).reduce((length, token) => Math.max(length, token.length), 0);
    expect(longest).toBeLessThanOrEqual(TOKEN_LENGTH);
    expect(performance.now() - started).toBeLessThan(20_000);
  },
);

test("no token is empty, longer than 64, holds a blank or half a pair, or changes when it is asked for", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc
      .array(fc.constantFrom("漢字", "camelCase", "\u0301", "ก็", "9".repeat(90), "𠀀".repeat(70), " ", "İ", "ß", "_"), {
        maxLength: 40,
      })
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (value) => {
      const tokens = tokenize(value);
      const isGood = (token: string): boolean =>
        /^\S+$/.test(token) && token.length <= TOKEN_LENGTH && token.isWellFormed();
      expect(tokens.filter((token) => !isGood(token))).toEqual([]);
      expect(tokenize(value)).toEqual(tokens);
    }),
    { numRuns: 100 },
  );
});
