import { expect, test } from "vitest";
import { NETWORK_VARIABLES } from "../../../../src/turnd/daemon/passed-variables.ts";
import { decisiveVariables } from "../../../../src/service/sandboxes/embedded/decisive-variables.ts";

function isDecisive(name: string, others: Readonly<Record<string, string>> = {}): boolean {
  return decisiveVariables({ ...others, [name]: "value" }).some(([one]) => one === name);
}

test("every variable about certificates, proxies and language that turnd passes on is decisive", () => {
  const passed = NETWORK_VARIABLES.filter((variable) => variable.isPassed).map(({ name }) => name.replace("*", "ALL"));
  expect(passed.length).toBeGreaterThan(10);
  expect(passed.filter((name) => !isDecisive(name))).toEqual([]);
  for (const name of ["http_proxy", "no_proxy", "OTEL_EXPORTER_OTLP_ENDPOINT"])
    expect(isDecisive(name), name).toBe(true);
});

test("so is what holds a key, and what another variable names; what is a terminal's is not", () => {
  expect(isDecisive("OPENAI_API_KEY")).toBe(true);
  expect(isDecisive("SECRET_OF_MINE")).toBe(false);
  expect(isDecisive("SECRET_OF_MINE", { CLI_B_ENV_KEY: "SECRET_OF_MINE" })).toBe(true);
  expect(isDecisive("SECRET_OF_MINE", { TURND_PASS_ENV: "ONE,SECRET_OF_MINE" })).toBe(true);
  expect(isDecisive("SECRET_OF_MINE", { CLI_A_JSON: '{"key":"{env:SECRET_OF_MINE}"}' })).toBe(true);
  for (const name of ["TERM", "PWD", "SHLVL", "SSH_TTY"]) expect(isDecisive(name), name).toBe(false);
});
