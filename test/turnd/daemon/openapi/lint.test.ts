import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { isProblemCode, PROBLEM_STATUS } from "../../../../src/service/protocol/problems.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";

const BIN = join(REPOSITORY, "test/pins/node_modules/.bin");
const RULES = join(REPOSITORY, "test/turnd/daemon/openapi");
const SERVICE_DOCUMENT = join(REPOSITORY, "openapi.service.json");

/** Nothing leaves this machine: telemetry is off, and what would go out anyway meets a closed port. */
const OFFLINE = {
  REDOCLY_TELEMETRY: "off",
  REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
};

async function lint(program: string, args: readonly string[]): Promise<{ code: number | undefined; out: string }> {
  expect(existsSync(join(BIN, program))).toBe(true);
  const { exitCode, all } = await execa(process.execPath, [join(BIN, program), ...args], {
    env: OFFLINE,
    all: true,
    reject: false,
  });
  return { code: exitCode, out: all };
}

describe.each(["openapi.json", "openapi.service.json"])("%s", (name) => {
  const document = join(REPOSITORY, name);

  test("redocly finds no fault and no warning", async () => {
    const rules = ["--config", join(RULES, "redocly.yaml"), "--format", "stylish", "--max-problems", "50"];
    const { code, out } = await lint("redocly", ["lint", ...rules, document]);
    expect(out).not.toMatch(/^\s+\d+:\d+\s+(error|warning)/m);
    expect([code, out]).toEqual([0, expect.stringContaining("valid")]);
  });

  test("spectral finds no fault and no warning", async () => {
    const args = ["lint", "--ruleset", join(RULES, "spectral.yaml"), "--fail-severity", "hint", "-f", "text", document];
    expect(await lint("spectral", args)).toMatchObject({ code: 0, out: expect.stringContaining("No results") });
  });
});

interface Described {
  readonly summary?: string;
  readonly description?: string;
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly security?: unknown;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Readonly<Record<string, unknown>>>> }>
  >;
}

test("every operation of the service says what it is, with its codes and an example for each body, answer and code", () => {
  const document: { paths: Record<string, Record<string, Described>>; security?: unknown } = JSON.parse(
    readFileSync(SERVICE_DOCUMENT, "utf8"),
  );
  expect(document.security).toEqual([{ bearer: [] }]);
  const faults: string[] = [];
  const ids = new Set<string | undefined>();
  const refused: string[] = [];
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const route = `${method.toUpperCase()} ${path}`;
      const { summary, description, operationId, tags } = operation;
      const texts = [summary, description, operationId, tags?.[0]];
      if (texts.some((text) => text === undefined || text === "")) faults.push(`${route}: text is missing`);
      if (ids.has(operationId)) faults.push(`${route}: the id ${operationId} is another's`);
      ids.add(operationId);
      for (const [type, media] of Object.entries(operation.requestBody?.content ?? {}))
        if (media.example === undefined) faults.push(`${route}: no example of ${type}`);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const shown = content?.["application/json"];
        if (shown !== undefined && shown["example"] === undefined && shown["examples"] === undefined)
          faults.push(`${route}: no example of ${status}`);
        const codes = Object.keys(shown?.["examples"] ?? {}).filter((name) => name !== "fields");
        for (const code of codes)
          if (!isProblemCode(code) || String(PROBLEM_STATUS[code]) !== status)
            faults.push(`${route}: ${code} is no code of ${status}`);
        refused.push(...codes);
      }
    }
  }
  expect(faults).toEqual([]);
  // Each route names its own; what no route has is of none.
  const everywhere = new Set([...refused, "route_not_found"]);
  expect(Object.keys(PROBLEM_STATUS).filter((code) => !everywhere.has(code))).toEqual([]);
  expect(Object.keys(document.paths).length).toBeGreaterThan(40);
});
