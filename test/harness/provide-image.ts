import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer, isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import type { TestProject } from "vitest/node";
import { z } from "zod";
import { REPOSITORY } from "./temporary.ts";

/** What tests of the image get; without an engine they are skipped, and `skipped` has the reason. */
export interface TestImage {
  readonly skipped?: string;
  /** Not there before `built`. */
  readonly tag: string;
  /** Name of this run: the value of the label that everything it makes carries, to be removed at its end. */
  readonly run: string;
  /** The file with the result of building, a `Built` as JSON. */
  readonly built: string;
  /** The image of the agent service: the same for it. */
  readonly service: { readonly tag: string; readonly built: string };
}

/** The result of building the image. */
const Built = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    /** Address of this machine at which containers reach what tests start. */
    hostAddress: z.string(),
  }),
  z.object({ ok: z.literal(false), message: z.string() }),
]);

declare module "vitest" {
  interface ProvidedContext {
    readonly image: TestImage;
  }
}

/** Label of containers, volumes and images that tests make. */
export const LABEL = "turnd.test";

/** What containers call the machine that tests run on. */
export const HOST_NAME = "host.docker.internal";

/** Two to three minutes on a quiet machine. */
export const BUILD_LIMIT_MS = 900_000;

/**
 * Builds both images once for all files of a run, as a person would, and removes all that the run has made.
 *
 * They are built beside the other tests, which come first. With `TURND_TEST_IMAGE` or `TURND_TEST_SERVICE_IMAGE` that
 * image is tested and not built.
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
    project.provide("image", { skipped, tag, run, built: "", service: { tag: "", built: "" } });
    return undefined;
  }
  const directory = await mkdtemp(join(tmpdir(), "turnd-image-"));
  const built = join(directory, "built.json");
  const building = build(given, tag, run);
  const givenService = process.env["TURND_TEST_SERVICE_IMAGE"];
  const service = { tag: givenService ?? `${run}-service:latest`, built: join(directory, "service-built.json") };
  const reports = Promise.all([
    reportBuild(building, built),
    // After the sandbox's image, whose layers it reuses.
    reportBuild(
      building.then(async (sandbox) => {
        if (givenService === undefined) await buildImage("Dockerfile.service", service.tag, run);
        return sandbox;
      }),
      service.built,
    ),
  ]);
  project.provide("image", { tag, run, built, service });
  return async () => {
    await reports;
    await rm(directory, { recursive: true, force: true });
    await removeAll(["ps", "--all"], run, ["rm", "--force", "--volumes"]);
    await removeAll(["volume", "ls"], run, ["volume", "rm"]);
    await removeAll(["network", "ls"], run, ["network", "rm"]);
    // Layers stay, as after every build: the next run takes a second for what has not changed.
    const made = [given ?? tag, givenService ?? service.tag].filter((name) => name.startsWith(run));
    if (made.length > 0) await execa("docker", ["rmi", "--no-prune", ...made]);
  };
}

/** Never throws: the tests that wait for the image report the fault. */
async function reportBuild(building: Promise<z.infer<typeof Built>>, path: string): Promise<void> {
  const result = await building.catch((error: unknown) => ({
    ok: false,
    message: error instanceof Error ? error.message : String(error),
  }));
  await writeFile(`${path}.new`, JSON.stringify(result));
  await rename(`${path}.new`, path);
}

/**
 * Waits for the build and reads its result.
 *
 * @throws the build's output, if it failed
 */
export function readBuilt(path: string): { readonly hostAddress: string } {
  const built = Built.parse(JSON.parse(readFileSync(path, "utf8")));
  if (!built.ok) throw new Error(built.message);
  return built;
}

async function build(given: string | undefined, tag: string, run: string): Promise<z.infer<typeof Built>> {
  if (given === undefined) await buildImage("Dockerfile.sandbox", tag, run);
  return { ok: true, hostAddress: await findHostAddress(tag) };
}

async function buildImage(file: string, tag: string, run: string): Promise<void> {
  const args = ["build", "--force-rm", "--file", file, "--tag", tag, "--label", `${LABEL}=${run}`, "."];
  const built = await execa("docker", args, { cwd: REPOSITORY, all: true, reject: false, timeout: BUILD_LIMIT_MS });
  if (built.failed)
    throw new Error(`the image of ${file} was not built: ${built.shortMessage}\n${built.all.slice(-8_000)}`);
}

/** Where containers find the engine's host: an address of this machine where the engine runs on it, otherwise its loopback. */
async function findHostAddress(tag: string): Promise<string> {
  const args = ["run", "--rm", "--add-host", `${HOST_NAME}:host-gateway`, "--entrypoint", "getent", tag];
  const { stdout } = await execa("docker", [...args, "ahostsv4", HOST_NAME]);
  const [address = ""] = stdout.split(/\s/);
  if (isIP(address) === 0) throw new Error(`no address of the engine's host: ${stdout}`);
  // A bridge without containers is no running interface, so only the attempt shows whether the address is here.
  const server = createServer();
  server.listen(0, address);
  const isHere = await once(server, "listening").then(
    () => true,
    () => false,
  );
  server.close();
  return isHere ? address : "127.0.0.1";
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
