import { execa } from "execa";
import { GenericContainer, Wait, type ExecResult, type StartedTestContainer } from "testcontainers";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { startScriptedModel, type ScriptedModel } from "../../src/scripted-model/server.ts";
import { createClient, type Client } from "./client.ts";
import { HOST_NAME, LABEL, readBuilt } from "./provide-image.ts";

// What a run has made is removed by provide-image.ts; the image that would do it cannot be had without internet.
process.env["TESTCONTAINERS_RYUK_DISABLED"] ??= "true";

/** The key and the token of every container; they must be found nowhere else. */
export const KEY = "FAKE-SENTINEL-KEY-0123456789";
export const TOKEN = "FAKE-SENTINEL-TOKEN-0123456789";

const PUBLIC_PORT = 8080;
const START_LIMIT_MS = 60_000;

/** How a container is started. */
export interface SandboxOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Names of volumes by the directory where they are mounted. */
  readonly volumes?: Readonly<Record<string, string>>;
  /** Mount options by directory. */
  readonly tmpfs?: Readonly<Record<string, string>>;
  readonly hasReadOnlyRoot?: boolean;
  /** Docker switches IPv6 off inside where its network has none. */
  readonly hasIpv6?: boolean;
  /** Drops all capabilities but these. */
  readonly capabilities?: readonly string[];
  readonly user?: string;
  /** As `docker run --security-opt` takes them. */
  readonly securityOptions?: readonly string[];
  /** Files of this machine, by where they are put as root's programs before the start. */
  readonly files?: Readonly<Record<string, string>>;
  /** Processes and bytes of memory that the container may have. */
  readonly limits?: { readonly processes: number; readonly memoryBytes: number };
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Runs instead of turnd and the front. */
  readonly command?: readonly string[];
}

/** A running container of the image, and a client of its public port that carries the token. */
export interface Sandbox extends Client {
  readonly container: StartedTestContainer;
  /** Runs a command inside, as root unless another user is given. Its output is both streams in one. */
  exec(command: readonly string[], user?: string): Promise<ExecResult>;
  /** Everything printed so far, by turnd, the front and the entrypoint. */
  log(): Promise<string>;
  /** Waits until the container has ended. */
  exitCode(): Promise<number>;
  /** `docker stop`, which keeps the container; resolves with its exit code. */
  stop(options?: { graceSeconds?: number }): Promise<number>;
  remove(): Promise<void>;
}

/** `describe` of what needs an engine; skipped where none answers, which the end of the run lists. */
export const describeImage = inject("image").skipped === undefined ? describe : describe.skip;

/** Starts the image and waits until turnd answers through the front. The run's end removes what a test leaves. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  let printed = "";
  const container = await toContainer(options)
    .withEnvironment({ TURND_TOKEN: TOKEN, ...options.env })
    .withExposedPorts(PUBLIC_PORT)
    .withWaitStrategy(Wait.forHttp("/v1/health", PUBLIC_PORT))
    .withStartupTimeout(START_LIMIT_MS)
    .withLogConsumer((stream) => stream.on("data", (chunk) => (printed += String(chunk))))
    .start()
    .catch((error: unknown) => {
      throw new Error(`the container did not start:\n${printed}`, { cause: error });
    });
  const url = `http://${container.getHost()}:${container.getMappedPort(PUBLIC_PORT)}`;
  const docker = async (...args: string[]): Promise<string> =>
    (await execa("docker", [...args, container.getId()], { all: true })).all;
  const exitCode = async (): Promise<number> => Number(await docker("wait"));
  return {
    ...createClient(url, { authorization: `Bearer ${TOKEN}` }),
    container,
    exec: (command, user = "0") => container.exec([...command], { user }),
    log: () => docker("logs"),
    exitCode,
    async stop({ graceSeconds = 10 } = {}) {
      await docker("stop", "--time", String(graceSeconds));
      return exitCode();
    },
    async remove() {
      await docker("rm", "--force", "--volumes");
    },
  };
}

/** One container for all tests of a `describe`. */
export function shareSandbox(options: () => SandboxOptions | Promise<SandboxOptions> = () => ({})): () => Sandbox {
  let sandbox: Sandbox | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox(await options());
  });
  afterAll(() => sandbox?.remove());
  return () => {
    if (sandbox === undefined) throw new Error("the container did not start");
    return sandbox;
  };
}

/** Runs a container to its end, for commands and for faults. */
export async function runSandbox(
  options: SandboxOptions,
): Promise<{ exitCode: number | undefined; stdout: string; stderr: string }> {
  const { tag, run } = inject("image");
  const list = (flag: string, values: Readonly<Record<string, string>> = {}, by = "="): string[] =>
    Object.entries(values).flatMap(([name, value]) => [flag, `${name}${by}${value}`]);
  const args = [
    "run",
    "--rm",
    ...list("--label", { [LABEL]: run }),
    ...list("--env", options.env),
    ...list("--tmpfs", options.tmpfs, ":"),
    ...Object.entries(options.volumes ?? {}).flatMap(([path, volume]) => ["--volume", `${volume}:${path}`]),
    ...(options.hasReadOnlyRoot === true ? ["--read-only"] : []),
    ...(options.capabilities === undefined ? [] : ["--cap-drop", "ALL"]),
    ...(options.capabilities ?? []).flatMap((name) => ["--cap-add", name]),
    ...(options.user === undefined ? [] : ["--user", options.user]),
    tag,
    ...(options.command ?? []),
  ];
  const { exitCode, stdout, stderr } = await execa("docker", args, { reject: false, stdin: "ignore", timeout: 60_000 });
  return { exitCode, stdout, stderr };
}

/** Makes an empty volume, removed at the end of the run. */
export async function createVolume(): Promise<string> {
  const { stdout } = await execa("docker", ["volume", "create", "--label", `${LABEL}=${inject("image").run}`]);
  return stdout;
}

/** Runs a shell as root on volumes, without the image's own entrypoint: what another image may have left there. */
export async function prepareVolume(volume: string, script: string): Promise<void> {
  const { tag } = inject("image");
  await execa("docker", ["run", "--rm", "--volume", `${volume}:/volume`, "--entrypoint", "sh", tag, "-ec", script]);
}

/** `@@command:…@@` runs the command and answers with its output. */
const command: Scenario = (conversation, { argument }) => {
  const outcome = currentTurn(conversation).outcomes.at(-1);
  if (outcome !== undefined) return say(outcome.output);
  return act(conversation, { type: "run", command: argument, purpose: "Runs it", seconds: 300 });
};

/** A scripted model on this machine, and the environment by which both CLIs of a container find it. */
export async function startModel(): Promise<{ model: ScriptedModel; env: Record<string, string> }> {
  const { hostAddress } = readBuilt(inject("image").built);
  const model = await startScriptedModel({ host: hostAddress, scenarios: { command } });
  const url = model.url.replace(hostAddress, HOST_NAME);
  // Nothing listens there: a request to anything but the model fails at once.
  const nowhere = "http://127.0.0.1:9";
  const env = {
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: `127.0.0.1,${HOST_NAME}`,
    CLI_A_PROVIDER: "scripted",
    CLI_A_MODEL: "scripted",
    CLI_A_BASE_URL: url,
    CLI_A_API_KEY: KEY,
    CLI_B_MODEL: "scripted",
    CLI_B_BASE_URL: url,
    CLI_B_API_KEY: KEY,
  };
  return { model, env };
}

/** testcontainers has no option for a root file system that cannot be written, nor for IPv6. */
class SandboxContainer extends GenericContainer {
  withReadOnlyRoot(): this {
    this.hostConfig.ReadonlyRootfs = true;
    return this;
  }

  withIpv6(): this {
    this.hostConfig.Sysctls = { "net.ipv6.conf.all.disable_ipv6": "0" };
    return this;
  }

  withSysctls(sysctls: Readonly<Record<string, string>>): this {
    this.hostConfig.Sysctls = { ...this.hostConfig.Sysctls, ...sysctls };
    return this;
  }

  withLimits({ processes, memoryBytes }: NonNullable<SandboxOptions["limits"]>): this {
    this.hostConfig.PidsLimit = processes;
    this.hostConfig.Memory = memoryBytes;
    this.hostConfig.MemorySwap = memoryBytes;
    return this;
  }

  /** It has no options for these either. */
  withSecurityOptions(options: readonly string[]): this {
    this.hostConfig.SecurityOpt = [...options];
    return this;
  }
}

function toContainer(options: SandboxOptions): GenericContainer {
  const { tag, run } = inject("image");
  const container = new SandboxContainer(tag)
    .withLabels({ [LABEL]: run })
    .withExtraHosts([{ host: HOST_NAME, ipAddress: "host-gateway" }])
    .withTmpFs({ ...options.tmpfs })
    .withBindMounts(
      Object.entries(options.volumes ?? {}).map(([target, source]) => ({ source, target, mode: "rw" as const })),
    );
  if (options.hasReadOnlyRoot === true) container.withReadOnlyRoot();
  if (options.hasIpv6 === true) container.withIpv6();
  if (options.sysctls !== undefined) container.withSysctls(options.sysctls);
  if (options.limits !== undefined) container.withLimits(options.limits);
  if (options.securityOptions !== undefined) container.withSecurityOptions(options.securityOptions);
  const files = Object.entries(options.files ?? {}).map(([target, source]) => ({ source, target, mode: 0o755 }));
  if (files.length > 0) container.withCopyFilesToContainer(files);
  if (options.capabilities !== undefined) {
    container.withDroppedCapabilities("ALL").withAddedCapabilities(...options.capabilities);
  }
  if (options.user !== undefined) container.withUser(options.user);
  if (options.command !== undefined) container.withCommand([...options.command]);
  return container;
}
