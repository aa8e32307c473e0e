import { expect, test } from "vitest";
import { isWebAddress } from "../../../src/turnd/inspector/text/visible.ts";

test.each([
  ["https://example.com/a?b=c", true],
  ["HTTP://127.0.0.1:8091/", true],
  ["javascript:alert(1)", false],
  ["JaVaScRiPt:alert(1)//https://example.com", false],
  ["data:text/html,<script>alert(1)</script>", false],
  ["file:///etc/passwd", false],
  ["blob:https://example.com/1", false],
  ["//example.com", false],
  ["no address", false],
])("of %s it is known whether it may be followed", (text, isFollowed) => {
  expect(isWebAddress(text)).toBe(isFollowed);
});
