import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readSettings } from "../../../src/service/settings/settings.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

const SECRETS = {
  SERVICE_JWT_SECRET: "test-jwt-secret-0123456789abcdefghij",
  SERVICE_KEY_SECRET: "test-key-secret-0123456789abcdefghij",
  SERVICE_SANDBOX_SECRET: "test-sandbox-secret-0123456789abcdef",
};
const URL_WITH_PASSWORD = "postgres://svc:FAKE-SENTINEL@db:5432/svc";

function fileOf(text: string): string {
  const path = join(temporaryDirectory(onTestFinished), "database-url");
  writeFileSync(path, text);
  return path;
}

function databaseUrlOf(env: Readonly<Record<string, string>>): string | undefined {
  return readSettings({ ...SECRETS, ...env }, 0).values.DATABASE_URL;
}

test("the database's address may stand in a file, as engines mount secrets", () => {
  const file = fileOf(`${URL_WITH_PASSWORD}\n`);
  expect(databaseUrlOf({ DATABASE_URL_FILE: file })).toBe(URL_WITH_PASSWORD);
  expect(databaseUrlOf({ DATABASE_URL_FILE: file, DATABASE_URL: "" })).toBe(URL_WITH_PASSWORD);
  // As with every secret, the variable itself goes before.
  expect(databaseUrlOf({ DATABASE_URL_FILE: file, DATABASE_URL: "postgres://other/db" })).toBe("postgres://other/db");
  expect(databaseUrlOf({})).toBeUndefined();
  // With a database nothing makes secrets, whichever way it is named.
  expect(() => readSettings({ DATABASE_URL_FILE: file }, 0)).toThrow("SERVICE_JWT_SECRET (or …_FILE) is needed");
});

test("a file without an address is refused: the service would come up on an empty database of its own", () => {
  expect(() => databaseUrlOf({ DATABASE_URL_FILE: fileOf("\n") })).toThrow("DATABASE_URL is (hidden)");
  expect(() => databaseUrlOf({ DATABASE_URL_FILE: "/nowhere/at-all" })).toThrow("DATABASE_URL_FILE cannot be read");
  expect(() => databaseUrlOf({ DATABASE_URL_FILE: "relative" })).toThrow("DATABASE_URL_FILE");
  const wrong = fileOf(URL_WITH_PASSWORD.replace("postgres:", "mysql:"));
  expect(() => databaseUrlOf({ DATABASE_URL_FILE: wrong })).toThrow(/^(?!.*FAKE-SENTINEL).*DATABASE_URL is \(hidden\)/);
});
