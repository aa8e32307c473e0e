import { networkInterfaces } from "node:os";
import { execa } from "execa";
import type { TestProject } from "vitest/node";
import { REPOSITORY } from "./temporary.ts";

/** What tests of the image are given; without an engine they are skipped, and `skipped` says why. */
export interface TestImage {
  readonly skipped?: string;
  readonly tag: string;
  /** Name of this run: the value of the label that everything it makes carries, to be removed at its end. */
  readonly run: string;
  /** Address of this machine at which containers reach what tests start. */
  readonly hostAddress: string;
}

declare module "vitest" {
  interface ProvidedContext {
    readonly image: TestImage;
  }
}

/** Label of containers, volumes and images that tests make. */
export const LABEL = "turnd.test";

const BUILD_LIMIT_MS = 600_000;

/**
 * Builds the image once for all files of a run, as a person would, and removes all that the run has made.
 *
 * With `TURND_TEST_IMAGE` that image is tested and nothing is built.
 */
export default async function provide(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const run = `turnd-test-${process.pid}`;
  const given = process.env["TURND_TEST_IMAGE"];
  const tag = given ?? `${run}:latest`;
  const engine = await execa("docker", ["version", "--format", "{{.Server.Version}}"], {
    reject: false,
    timeout: 20_000,
  });
  if (engine.failed) {
    const skipped = `no container engine answers: ${engine.stderr ?? engine.shortMessage}`;
    warnLoudly(skipped);
    project.provide("image", { skipped, tag, run, hostAddress: "" });
    return undefined;
  }
  if (given === undefined) await build(tag, run);
  project.provide("image", { tag, run, hostAddress: await findHostAddress() });
  return async () => {
    await removeAll(["ps", "--all"], run, ["rm", "--force", "--volumes"]);
    await removeAll(["volume", "ls"], run, ["volume", "rm"]);
    // Layers stay, as after every build: the next run takes a second for what has not changed.
    if (given === undefined) await execa("docker", ["rmi", "--no-prune", tag]);
  };
}

async function build(tag: string, run: string): Promise<void> {
  const args = ["build", "--file", "Dockerfile.sandbox", "--tag", tag, "--label", `${LABEL}=${run}`, "."];
  const built = await execa("docker", args, { cwd: REPOSITORY, all: true, reject: false, timeout: BUILD_LIMIT_MS });
  if (built.failed) throw new Error(`the image was not built: ${built.shortMessage}\n${built.all.slice(-8_000)}`);
}

/** The bridge's own address, which is this machine's where the engine runs on it; else its loopback is forwarded to. */
async function findHostAddress(): Promise<string> {
  const format = "{{range .IPAM.Config}}{{.Gateway}}{{end}}";
  const { stdout } = await execa("docker", ["network", "inspect", "bridge", "--format", format]);
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some(({ address }) => address === stdout) ? stdout : "127.0.0.1";
}

async function removeAll(list: readonly string[], run: string, remove: readonly string[]): Promise<void> {
  const { stdout } = await execa("docker", [...list, "--quiet", "--filter", `label=${LABEL}=${run}`]);
  const ids = stdout.split("\n").filter((id) => id !== "");
  if (ids.length > 0) await execa("docker", [...remove, ...ids]);
}

function warnLoudly(reason: string): void {
  const lines = ["THE IMAGE IS NOT TESTED.", ...reason.split("\n"), "DOCKER_HOST names an engine that is elsewhere."];
  const frame = "!".repeat(100);
  process.stderr.write(`\n${[frame, ...lines.map((line) => `!!! ${line}`), frame].join("\n")}\n\n`);
}
