import { readFileSync } from "node:fs";
import { z } from "zod";
import { isAlwaysPassed } from "./passed-variables.ts";
import { SettingsSchema } from "./settings-schema.ts";

/** The settings, checked. Times are milliseconds. */
export interface Settings {
  readonly values: z.output<typeof SettingsSchema>;
  readonly token: string | undefined;
  readonly runAs: { readonly uid: number; readonly gid: number; readonly isSelf: boolean };
  readonly workspaceRoots: readonly string[];
  /** The part of the environment that is passed to the CLIs. */
  readonly passedEnv: Readonly<Record<string, string>>;
  /** The part that is passed to a person's shell: without what `TURND_PASS_ENV` names for the CLIs. */
  readonly shellEnv: Readonly<Record<string, string>>;
  /** What `mcp_servers` of sessions may refer to. */
  readonly sessionSecrets: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A variable that stops turnd: its name, its value and what is allowed. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SettingsError";
  }
}

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

const SECRET = new Set(["TURND_TOKEN"]);
const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Reads turnd's settings from an environment.
 *
 * @param self - the user turnd runs as
 * @throws {SettingsError} naming every variable that is wrong
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>, self: Identity): Settings {
  const given = withoutEmpty(env);
  const values = readVariables(SettingsSchema, env);
  const token = readToken(values);
  if (values.TURND_HOSTS.includes("*") && token === undefined) {
    throw new SettingsError(["TURND_HOSTS is *: any name is accepted only with TURND_TOKEN or TURND_TOKEN_FILE"]);
  }
  for (const variable of ["TURND_HOST", "TURND_TERMINAL_HOST"] as const) {
    if (LOOPBACK.has(values[variable]) || token !== undefined) continue;
    throw new SettingsError([
      `${variable} is ${values[variable]}: turnd listens beyond loopback only with TURND_TOKEN or TURND_TOKEN_FILE`,
    ]);
  }
  // Two addresses could share a port; a person who wants that can use two ports.
  if (values.TURND_TERMINAL_PORT === values.TURND_PORT && values.TURND_PORT !== 0) {
    throw new SettingsError([
      `TURND_TERMINAL_PORT is "${values.TURND_TERMINAL_PORT}": must not be TURND_PORT, which /v1 listens on`,
    ]);
  }
  return {
    values,
    token,
    runAs: readRunAs(values.TURND_RUN_AS, self),
    workspaceRoots: values.TURND_WORKSPACE_ROOTS?.split(":") ?? [values.TURND_WORKSPACE, values.TURND_HOME],
    passedEnv: selectEnv(given, values.TURND_PASS_ENV),
    shellEnv: selectEnv(given, ""),
    sessionSecrets: readSessionSecrets(values.TURND_SESSION_SECRETS, given),
    env,
  };
}

/**
 * Reads the variables of a schema from an environment.
 *
 * @throws {SettingsError} naming every variable that is wrong
 */
export function readVariables<T extends z.ZodObject>(schema: T, env: Settings["env"]): z.output<T> {
  const given = withoutEmpty(env);
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new SettingsError(parsed.error.issues.map((issue) => describeIssue(schema, issue, given)));
}

/** An empty variable is one that is not set: compose files and manifests leave such behind. */
function withoutEmpty(env: Settings["env"]): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [key, value] of Object.entries(env)) if (value !== undefined && value !== "") given[key] = value;
  return given;
}

function readRunAs(value: string, self: Identity): Settings["runAs"] {
  if (value === "self") return { ...self, isSelf: true };
  const [uid = 0, gid = 0] = value.split(":").map(Number);
  const isSelf = uid === self.uid && gid === self.gid;
  if (self.uid !== 0 && !isSelf) {
    throw new SettingsError([
      `TURND_RUN_AS is ${value}, but only root can run the CLIs as another user; start turnd as root or set TURND_RUN_AS=self`,
    ]);
  }
  return { uid, gid, isSelf };
}

function readToken({ TURND_TOKEN, TURND_TOKEN_FILE }: Settings["values"]): string | undefined {
  if (TURND_TOKEN !== undefined || TURND_TOKEN_FILE === undefined) return TURND_TOKEN;
  try {
    const token = readFileSync(TURND_TOKEN_FILE, "utf8").trim();
    if (/^[\x21-\x7e]{8,}$/.test(token)) return token;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError([`TURND_TOKEN_FILE cannot be read: ${reason}`]);
  }
  throw new SettingsError([`TURND_TOKEN_FILE ${TURND_TOKEN_FILE} must hold at least 8 visible characters`]);
}

/** A shorter one could not be taken out of what is printed without taking out other things, too. */
const MIN_SECRET = 8;
/** One line of visible Latin-1: it may become a header. CLI A would replace such a reference in it by another value. */
const USABLE_SECRET = /^(?!.*\{(?:env|file):)[\u0020-\u007e\u00a0-\u00ff]*$/;

function readSessionSecrets(
  names: readonly string[],
  env: Readonly<Record<string, string>>,
): Settings["sessionSecrets"] {
  const found = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const unusable = found.filter(([, value]) => value.length < MIN_SECRET || !USABLE_SECRET.test(value));
  if (unusable.length === 0) return Object.fromEntries(found);
  throw new SettingsError(
    unusable.map(([name]) => {
      const allowed = `must be one line of at least ${MIN_SECRET} characters, without {env: and {file:`;
      return `${name}, which TURND_SESSION_SECRETS names, is (hidden): ${allowed}`;
    }),
  );
}

/** The names of a list such as `TURND_PASS_ENV`. */
export function namesIn(list: string | undefined): ReadonlySet<string> {
  return new Set((list ?? "").split(/[ ,]+/));
}

function selectEnv(env: Readonly<Record<string, string>>, pass: string): Record<string, string> {
  const named = namesIn(pass);
  return Object.fromEntries(Object.entries(env).filter(([key]) => isAlwaysPassed(key) || named.has(key)));
}

function describeIssue({ shape }: z.ZodObject, issue: z.core.$ZodIssue, env: Readonly<Record<string, string>>): string {
  const variable = String(issue.path[0]);
  const value = SECRET.has(variable) ? "(hidden)" : JSON.stringify(env[variable]);
  const schemas: Readonly<Record<string, z.core.$ZodType>> = shape;
  const schema = schemas[variable];
  const meaning = schema === undefined ? "" : (z.globalRegistry.get(schema)?.description ?? "");
  return `${variable} is ${value}: ${describeAllowed(issue)} (${meaning})`;
}

function describeAllowed(issue: z.core.$ZodIssue): string {
  if (issue.code === "too_small") return `must be at least ${issue.minimum}`;
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  if (issue.code === "invalid_format" && issue.format === "regex") return `must match ${issue.pattern}`;
  if (issue.code === "invalid_format" && issue.format === "starts_with") return "must be an absolute path";
  if (issue.code === "invalid_value") return `must be one of ${issue.values.join(", ")}`;
  return issue.message;
}
