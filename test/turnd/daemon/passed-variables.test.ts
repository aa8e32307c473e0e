import { expect, test } from "vitest";
import {
  describeRefusedVariables,
  isAlwaysPassed,
  NETWORK_VARIABLES,
} from "../../../src/turnd/daemon/passed-variables.ts";
import { readSettings } from "../../../src/turnd/daemon/settings.ts";

const SELF = { uid: 1000, gid: 1000 };

test("each variable about certificates, proxies and language is passed or refused by its name", () => {
  const seen = new Set<string>();
  for (const { name, isPassed } of NETWORK_VARIABLES) {
    const one = name.replace("*", "X");
    expect(seen.has(name), name).toBe(false);
    seen.add(name);
    expect(isAlwaysPassed(one), name).toBe(isPassed);
    expect(describeRefusedVariables({ [one]: "secret" }, new Set()).length, name).toBe(isPassed ? 0 : 1);
  }
  for (const name of ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]) expect(isAlwaysPassed(name)).toBe(true);
  for (const name of ["OPENAI_API_KEY", "XSSL_CERT_FILE", "SSL_CERT_FILES", "LC_"]) {
    expect(isAlwaysPassed(name), name).toBe(false);
  }
});

test("CLIs and shells get them; what TURND_PASS_ENV names the CLIs get too, without a warning", () => {
  const env = {
    TURND_RUN_AS: "self",
    CODEX_CA_CERTIFICATE: "/ca.pem",
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    SSLKEYLOGFILE: "/keys",
    WS_PROXY: "",
    TURND_PASS_ENV: "SSLKEYLOGFILE",
  };
  const { passedEnv, shellEnv } = readSettings(env, SELF);
  expect(passedEnv).toEqual({ CODEX_CA_CERTIFICATE: "/ca.pem", SSLKEYLOGFILE: "/keys" });
  expect(shellEnv).toEqual({ CODEX_CA_CERTIFICATE: "/ca.pem" });
  expect(describeRefusedVariables(env, new Set(["SSLKEYLOGFILE"]))).toEqual([
    "NODE_TLS_REJECT_UNAUTHORIZED is not passed to the CLIs: `0` would hand keys to whoever answers, and turnd does not obey it either; name the authority instead; TURND_PASS_ENV passes it all the same",
  ]);
});
