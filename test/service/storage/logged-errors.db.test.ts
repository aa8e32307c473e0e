import { sql } from "kysely";
import { expect, test } from "vitest";
import { createLogger } from "../../../src/service/commands/run.ts";
import { freshStorage } from "../harness/storage.ts";

const SENT = "what a user has sent";

test("the log of a query that failed on PGlite has its cause, and not what a user has sent", async () => {
  const storage = await freshStorage("pglite");
  let fault: unknown;
  await sql`select ${SENT}::text, 1 / 0`.execute(storage.db).catch((error: unknown) => (fault = error));
  // PGlite gives them with the error, which is why the log leaves them out.
  expect(fault).toMatchObject({ params: [SENT] });
  const lines: string[] = [];
  createLogger("info", { write: (line: string) => void lines.push(line) }).error({ err: fault }, "a query failed");
  expect(lines.join("")).toContain("division by zero");
  expect(lines.join("")).not.toContain(SENT);
});
