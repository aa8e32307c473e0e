import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { REFERENCE_PATH, renderReference } from "../scripts/reference.ts";
import { VERSION } from "../src/daemon/version.ts";

test("docs/reference.md says what the source says; `node scripts/reference.ts` makes it anew", () => {
  expect(readFileSync(REFERENCE_PATH, "utf8")).toBe(renderReference());
});

test("every event type, failure code and setting stands in the reference", () => {
  const text = renderReference();
  for (const name of ["turn.ended", "record.unknown", "daemon_stopped", "cursor_beyond_end", "TURND_MAX_LINE_BYTES"]) {
    expect(text).toContain(`\`${name}\``);
  }
  for (const section of text.split("\n## ").slice(1)) expect(section.split("\n| ").length).toBeGreaterThan(5);
});

test("the version is that of package.json", () => {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(VERSION).toBe(manifest.version);
});
