import { expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { WITHOUT_TURN_CONTEXT } from "../../../../../src/turnd/daemon/executors/cli-b/config/home-state.ts";

const env = {
  MY_CRED: "FAKE-LAB-KEY-A",
  CLI_B_ENV_KEY: "MY_CRED",
  CLI_B_MODEL: "m",
  CLI_B_BASE_URL: "http://127.0.0.1:1/v1",
};

test.each([
  [{ instructions: "Be brief.", hasNewInstructions: true }, true],
  [{ instructions: "Be brief.", hasNewInstructions: false }, false],
  [{ hasNewInstructions: true }, false],
  [{}, false],
])("a history loses what the CLI compares a resume with, for new instructions only: %o", (given, isLost) => {
  const configured = cliB.configure({ env, cliName: "codex" });
  if (!configured.ok) throw new Error(configured.errors.join("; "));
  const { configuration } = configured;
  const plan = cliB.planHome({
    home: "/h",
    cliName: "codex",
    configuration,
    permissions: {},
    mode: "execute",
    ...given,
  });
  expect(plan.history?.rules.includes(WITHOUT_TURN_CONTEXT)).toBe(isLost);
});
