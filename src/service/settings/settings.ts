import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { SandboxKind } from "../protocol/sandboxes.ts";
import { readFile, SettingsError } from "./file.ts";
import { KNOWLEDGE_SETTINGS } from "./knowledge.ts";
import { flag, integer, list, path, url } from "./types.ts";

const MINUTE = 60_000;

const secret = z.string().min(32).optional();

/** Every variable of the service. `docs/service-reference.md` is made from it. */
export const SettingsSchema = z.object({
  SERVICE_HOST: z.string().min(1).default("127.0.0.1").meta({ description: "Address the API listens on" }),
  SERVICE_PORT: integer(5050, 0, 65_535).meta({ description: "Port the API listens on; 0 picks one and logs it" }),
  SERVICE_PUBLIC_URL: url.optional().meta({ description: "Where callers reach the service; needed beyond loopback" }),
  SERVICE_HOSTS: list.default([]).meta({ description: "Further names by which it may be asked" }),
  SERVICE_CORS_ORIGINS: list
    .optional()
    .meta({ description: "Origins whose pages may call; on loopback http://localhost:5173" }),
  SERVICE_TRUST_PROXY: integer(0, 0, 16).meta({ description: "Proxies in front, counted from the right" }),
  SERVICE_ALLOW_HTTP: flag("false").meta({ description: "Allow a public URL without TLS" }),
  SERVICE_DATA_DIR: path.meta({ description: "PGlite, lock, secrets, objects, embedded turnd" }),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//)
    .optional()
    .meta({ description: "PostgreSQL 15 or newer; without it PGlite in the data directory" }),
  DATABASE_URL_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_DB_POOL: integer(10, 2, 1_000).meta({ description: "Connections of one process" }),
  SERVICE_MIGRATE: flag("true").meta({ description: "false: refuse to start on an older schema" }),
  SERVICE_OBJECTS: z
    .string()
    .regex(/^(file:\/.+|s3:\/\/[a-z0-9.-]+(\/[^/]+)*)$/)
    .optional()
    .meta({ description: "file:/directory or s3://bucket/prefix" }),
  SERVICE_S3_ENDPOINT: url.optional().meta({ description: "Where the bucket is" }),
  SERVICE_S3_REGION: z.string().default("us-east-1").meta({ description: "Region of the bucket" }),
  SERVICE_S3_ACCESS_KEY_FILE: path.meta({ description: "File with the access key id" }),
  SERVICE_S3_SECRET_KEY_FILE: path.meta({ description: "File with the secret access key" }),
  SERVICE_JWT_SECRET: secret.meta({ description: "Signs tokens" }),
  SERVICE_JWT_SECRET_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_KEY_SECRET: secret.meta({ description: "API keys are derived from it" }),
  SERVICE_KEY_SECRET_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_SANDBOX_SECRET: secret.meta({ description: "Tokens of sandboxes are derived from it" }),
  SERVICE_SANDBOX_SECRET_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_INIT_TOKEN: z.string().min(8).optional().meta({ description: "Needed to make the first account" }),
  SERVICE_ADMIN_PASSWORD_FILE: path.meta({
    description: "File with the password of the superadmin `admin`, who is then made",
  }),
  SERVICE_JWT_TTL_MS: integer(604_800_000, MINUTE).meta({ description: "How long a token is good" }),
  SERVICE_LOGIN_FAILURES: integer(10, 1).meta({
    description: "Failed logins of a name from an address in a window; of IPv6 a /64 is one address",
  }),
  SERVICE_LOGIN_FAILURES_IP: integer(30, 1).meta({ description: "Failed logins of an address in a window" }),
  SERVICE_LOGIN_FAILURES_NAME: integer(100, 1, 86_400).meta({
    description:
      "Failed logins of a name from all addresses in a day; then one more for each part of the day, but where the " +
      "user has logged in before as many as elsewhere",
  }),
  SERVICE_LOGIN_WINDOW_MS: integer(600_000, 1_000, 86_400_000).meta({ description: "The window" }),
  SERVICE_RATE_PER_MINUTE: integer(1_200, 0).meta({ description: "Calls of a credential; 0 is off" }),
  SERVICE_RATE_ANONYMOUS_PER_MINUTE: integer(120, 0).meta({
    description: "Calls without one, of an address; 0 is off",
  }),
  SERVICE_MAX_BODY_BYTES: integer(20_971_520, 1_024).meta({
    description: "A request's body where it may hold images or a batch of documents",
  }),
  SERVICE_MAX_PLAIN_BODY_BYTES: integer(65_536, 1_024).meta({ description: "Every other body" }),
  SERVICE_MAX_PUBLIC_BODY_BYTES: integer(16_384, 1_024).meta({
    description: "A body that needs no credential, such as a login",
  }),
  SERVICE_MAX_BODY_VALUES: integer(20_000, 100).meta({
    description: "Values and names of all levels in a body",
  }),
  SERVICE_MAX_STREAMS: integer(1_000, 1).meta({ description: "Event streams at once" }),
  SERVICE_MAX_STREAMS_PER_USER: integer(200, 1).meta({ description: "Of these, a user's" }),
  SERVICE_MAX_QUEUED: integer(100, 0, 10_000).meta({ description: "Requests that wait in a thread" }),
  SERVICE_RUN_CONCURRENCY: integer(0, 0, 1_000).meta({
    description: "Runs of one process; 0: 16 on PGlite, 64 on PostgreSQL",
  }),
  SERVICE_TASK_CONCURRENCY: integer(4, 1, 100).meta({
    description:
      "Tasks of one process; of one kind one fewer, if there is more than one place; of a user one of a kind",
  }),
  SERVICE_TASK_TURN_MS: integer(5_000, 0, 3_600_000).meta({
    description: "How long a task keeps its place while another user's waits for one; then it goes on after theirs",
  }),
  SERVICE_LEASE_MS: integer(20_000, 10_000, 600_000).meta({
    description: "Silence after which a worker's runs go to another",
  }),
  SERVICE_EXECUTOR_LOST_MS: integer(300_000, 1_000).meta({
    description: "Silence after which a run's turnd is given up",
  }),
  SERVICE_SYNC_WAIT_MS: integer(600_000, 1_000).meta({ description: "Longest wait of a synchronous agent-call" }),
  SERVICE_SSE_HEARTBEAT_MS: integer(15_000, 100, 600_000).meta({ description: "Comments on idle streams" }),
  SERVICE_SSE_CHECK_MS: integer(15_000, 100, 600_000).meta({
    description: "How often it is looked at whether who opened a stream may still read it",
  }),
  SERVICE_SSE_MAX_MS: integer(1_800_000, 1_000).meta({ description: "Longest connection of a stream" }),
  SERVICE_EVENTS_RETENTION_MS: integer(604_800_000, 1_000).meta({
    description: "How long events stay after their run's end",
  }),
  SERVICE_TASKS_RETENTION_MS: integer(2_592_000_000, 1_000).meta({
    description: "How long background tasks stay listed after their end",
  }),
  SERVICE_SHUTDOWN_MS: integer(12_000, 1_000, 600_000).meta({ description: "Bound of a stop by SIGTERM" }),
  SERVICE_SANDBOX: SandboxKind.default("embedded").meta({ description: "Where turns run" }),
  SERVICE_SANDBOX_SCOPE: z
    .enum(["thread", "user"])
    .default("thread")
    .meta({ description: "docker, kubernetes: a sandbox for each thread, or for each user" }),
  SERVICE_SANDBOX_IMAGE: z
    .string()
    .min(1)
    .default("turnd-sandbox")
    .meta({ description: "docker, kubernetes: the image, as Dockerfile.sandbox makes it" }),
  SERVICE_SANDBOX_MAX: integer(50, 1, 10_000).meta({
    description: "docker, kubernetes: sandboxes that run at once; then the one idle for longest is stopped",
  }),
  SERVICE_SANDBOX_IDLE_MS: integer(900_000, 1_000).meta({
    description: "docker, kubernetes: a sandbox without a run for so long is stopped; its volume stays",
  }),
  SERVICE_SANDBOX_START_MS: integer(60_000, 1_000).meta({ description: "Longest start of a sandbox" }),
  SERVICE_SANDBOX_CPUS: z
    .string()
    .regex(/^\d+(\.\d{1,3})?$/)
    .transform(Number)
    .pipe(z.number().min(0.1).max(1_024))
    .default(2)
    .meta({ description: "docker, kubernetes: CPUs of a sandbox" }),
  SERVICE_SANDBOX_MEMORY_MB: integer(4_096, 512).meta({ description: "docker, kubernetes: memory of a sandbox, MiB" }),
  SERVICE_SANDBOX_PIDS: integer(512, 64).meta({
    description: "docker: processes and threads of a sandbox; in Kubernetes the kubelet's podPidsLimit",
  }),
  SERVICE_SANDBOX_VOLUME_GB: integer(10, 1).meta({
    description: "kubernetes: size of a sandbox's volume, GiB; Docker's own volumes have no limit",
  }),
  SERVICE_SANDBOX_NETWORK: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]*$/)
    .optional()
    .meta({
      description: "docker: network by which sandboxes are reached at their addresses; else one of ours, and 127.0.0.1",
    }),
  SERVICE_SANDBOX_PASS_ENV: list
    .default(["CLI_A_*", "CLI_B_*"])
    .meta({ description: "docker, kubernetes: variables of the service that sandboxes get" }),
  SERVICE_K8S_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
    .default("default")
    .meta({ description: "kubernetes: namespace of the sandboxes" }),
  SERVICE_K8S_STORAGE_CLASS: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "kubernetes: storage class of their volumes; else the cluster's default" }),
  SERVICE_TURND_URLS: list.pipe(z.array(z.url())).default([]).meta({ description: "static: the turnds there are" }),
  SERVICE_TURND_TOKEN: z.string().min(8).optional().meta({ description: "static: their token" }),
  SERVICE_TURND_TOKEN_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_TURND_CMD: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "embedded: starts turnd; its words are split at spaces" }),
  SERVICE_ALLOW_SHARED_USER: flag("false").meta({
    description: "embedded, not root: let the CLIs run as the service's own user",
  }),
  SERVICE_MAX_WEBHOOKS: integer(20, 0, 1_000).meta({ description: "Webhooks of a user" }),
  SERVICE_OUTBOUND_ALLOW: list
    .default([])
    .meta({ description: "Exact hosts (host or host:port) that may be reached although private" }),
  SERVICE_OUTBOUND_PROXY: url.optional().meta({ description: "Egress proxy that resolves by itself" }),
  SERVICE_OUTBOUND_DNS: list
    .default([])
    .meta({ description: "Name servers (address:port) for addresses of users; default the system's" }),
  ...KNOWLEDGE_SETTINGS,
  SERVICE_TOOLS_URL: url.optional().meta({
    description:
      "Where CLIs in a sandbox reach this service, for agents with knowledge bases; default loopback where they run on this machine, else SERVICE_PUBLIC_URL",
  }),
  SERVICE_AGENTS_FILE: path.meta({ description: "JSON list of agents put in place at start" }),
  SERVICE_METRICS_TOKEN: z
    .string()
    .min(16)
    .optional()
    .meta({ description: "Bearer of GET /metrics; needed unless both service and caller are on this machine" }),
  SERVICE_METRICS_TOKEN_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_METRICS_PORT: integer(0, 0, 65_535)
    .unwrap()
    .optional()
    .meta({ description: "worker: port of its health, ready and metrics; without it a worker has none" }),
  SERVICE_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal"])
    .default("info")
    .meta({ description: "Level of the log on stdout" }),
});

/** The settings, checked. */
export interface Settings {
  readonly values: z.output<typeof SettingsSchema>;
  readonly dataDirectory: string;
  readonly isLoopback: boolean;
  readonly corsOrigins: readonly string[];
  /** It listens on loopback, and no setting shows a proxy before it. */
  readonly isLocalOnly: boolean;
  /** Absent: made at the first start on PGlite and loopback. */
  readonly secrets: { readonly [Name in SecretName]: string | undefined };
  readonly turndToken: string | undefined;
  readonly metricsToken: string | undefined;
  readonly embeddingKey: string | undefined;
  readonly rerankKey: string | undefined;
  readonly adminPassword: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type SecretName = "jwt" | "key" | "sandbox";

const HIDDEN = /SECRET$|TOKEN$|_KEY$|^DATABASE_URL$/;
const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Reads the settings from an environment.
 *
 * @throws {SettingsError} naming every variable that is wrong
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>, uid: number): Settings {
  const given: Record<string, string> = {};
  // An empty variable is one that is not set: compose files and manifests leave such behind.
  for (const [key, value] of Object.entries(env)) if (value !== undefined && value !== "") given[key] = value;
  // A file that is empty is a wrong URL, never PGlite.
  const databaseUrl = given["DATABASE_URL"] ?? readFile("DATABASE_URL_FILE", given["DATABASE_URL_FILE"]);
  if (databaseUrl !== undefined) given["DATABASE_URL"] = databaseUrl;
  const parsed = SettingsSchema.safeParse(given);
  if (!parsed.success) throw new SettingsError(parsed.error.issues.map((issue) => describeIssue(issue, given)));
  const values = parsed.data;
  const isLoopback = LOOPBACK.has(values.SERVICE_HOST);
  const secrets = {
    jwt: readSecret(values, "SERVICE_JWT_SECRET"),
    key: readSecret(values, "SERVICE_KEY_SECRET"),
    sandbox: readSecret(values, "SERVICE_SANDBOX_SECRET"),
  };
  const problems = [...checkSecrets(secrets, values, isLoopback), ...checkReach(values, isLoopback)];
  if (values.SERVICE_SANDBOX === "static" && values.SERVICE_TURND_URLS.length === 0) {
    problems.push("SERVICE_SANDBOX is static: SERVICE_TURND_URLS has to name at least one turnd");
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    values,
    isLoopback,
    secrets,
    dataDirectory: values.SERVICE_DATA_DIR ?? (uid === 0 ? "/var/lib/svc" : join(homedir(), ".local/state/svc")),
    isLocalOnly:
      isLoopback &&
      values.SERVICE_TRUST_PROXY === 0 &&
      (values.SERVICE_PUBLIC_URL === undefined || LOOPBACK.has(values.SERVICE_PUBLIC_URL.hostname)),
    corsOrigins: values.SERVICE_CORS_ORIGINS ?? (isLoopback ? ["http://localhost:5173"] : []),
    turndToken: values.SERVICE_TURND_TOKEN ?? readFile("SERVICE_TURND_TOKEN_FILE", values.SERVICE_TURND_TOKEN_FILE),
    metricsToken: readSecret(values, "SERVICE_METRICS_TOKEN", 16),
    embeddingKey: readSecret(values, "SERVICE_KB_EMBEDDING_KEY", 1),
    rerankKey: readSecret(values, "SERVICE_KB_RERANK_KEY", 1),
    adminPassword: readFile("SERVICE_ADMIN_PASSWORD_FILE", values.SERVICE_ADMIN_PASSWORD_FILE),
    env,
  };
}

function checkSecrets(secrets: Settings["secrets"], values: Settings["values"], isLoopback: boolean): string[] {
  const mayMake = values.DATABASE_URL === undefined && isLoopback;
  const missing = Object.entries(secrets).flatMap(([name, value]) => (value === undefined ? [name] : []));
  const problems = mayMake
    ? []
    : missing.map(
        (name) => `SERVICE_${name.toUpperCase()}_SECRET (or …_FILE) is needed with DATABASE_URL or beyond loopback`,
      );
  const set = Object.values(secrets).filter((value) => value !== undefined);
  if (new Set(set).size < set.length)
    problems.push("SERVICE_JWT_SECRET, SERVICE_KEY_SECRET and SERVICE_SANDBOX_SECRET must differ");
  return problems;
}

function checkReach(values: Settings["values"], isLoopback: boolean): string[] {
  if (isLoopback) return [];
  const { SERVICE_PUBLIC_URL: publicUrl, SERVICE_ALLOW_HTTP: allowsHttp } = values;
  if (publicUrl === undefined && !allowsHttp) {
    return [
      `SERVICE_HOST is ${values.SERVICE_HOST}: beyond loopback SERVICE_PUBLIC_URL is needed (https), or SERVICE_ALLOW_HTTP=true`,
    ];
  }
  if (publicUrl?.protocol === "http:" && !allowsHttp) {
    return ["SERVICE_PUBLIC_URL is http: use https, or set SERVICE_ALLOW_HTTP=true"];
  }
  return [];
}

type SecretVariable =
  | `SERVICE_${"JWT" | "KEY" | "SANDBOX"}_SECRET`
  | "SERVICE_METRICS_TOKEN"
  | `SERVICE_KB_${"EMBEDDING" | "RERANK"}_KEY`;

function readSecret(values: Settings["values"], name: SecretVariable, least = 32): string | undefined {
  const value = values[name] ?? readFile(`${name}_FILE`, values[`${name}_FILE`]);
  if (value !== undefined && value.length < least) {
    throw new SettingsError([`${name} must have at least ${least} characters`]);
  }
  return value;
}

function describeIssue(issue: z.core.$ZodIssue, env: Readonly<Record<string, string>>): string {
  const variable = String(issue.path[0]);
  const value = HIDDEN.test(variable) ? "(hidden)" : JSON.stringify(env[variable]);
  const schema = Object.entries(SettingsSchema.shape).find(([key]) => key === variable)?.[1];
  return `${variable} is ${value}: ${issue.message} (${schema?.meta()?.description ?? ""})`;
}
