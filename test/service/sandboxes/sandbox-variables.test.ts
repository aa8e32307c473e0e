import { expect, test } from "vitest";
import { sandboxVariables } from "../../../src/service/serve/sandbox-wiring.ts";
import { readSettings } from "../../../src/service/settings/settings.ts";

const BASE = { SERVICE_DATA_DIR: "/nowhere/svc", SERVICE_SANDBOX: "docker", SERVICE_SANDBOX_IMAGE: "turnd-sandbox" };

function variablesOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return sandboxVariables(readSettings({ ...BASE, ...env }, 0));
}

test("threads that share a sandbox have workspaces of their own", () => {
  expect(variablesOf({ SERVICE_SANDBOX_SCOPE: "user" })).toEqual({ TURND_SESSION_WORKSPACE: "own" });
  expect(variablesOf({})).toEqual({});
});

test("what the operator passes wins", () => {
  const passed = { SERVICE_SANDBOX_PASS_ENV: "CLI_B_*,TURND_SESSION_WORKSPACE", TURND_SESSION_WORKSPACE: "shared" };
  expect(variablesOf({ ...passed, SERVICE_SANDBOX_SCOPE: "user", CLI_B_MODEL: "m" })).toEqual({
    TURND_SESSION_WORKSPACE: "shared",
    CLI_B_MODEL: "m",
  });
});
