import { once } from "node:events";
import { createServer } from "node:net";
import { z } from "zod";
import { fault, ok, warn, worst, type OwnPort, type Subject, type Verdict } from "./check.ts";

const ASK_TIMEOUT_MS = 5_000;

/** What every port of turnd, and the front, answers to what it does not serve: a problem. */
const OwnAnswer = z.object({ detail: z.object({ code: z.string() }) });

export async function checkPorts({ ports }: Subject): Promise<Verdict> {
  const verdicts = await Promise.all(ports.map(checkPort));
  const found = verdicts.map(({ message }) => message).join(", ");
  return worst([ok(found || "none is asked for"), ...verdicts.filter(({ level }) => level !== "ok")]);
}

async function checkPort({ what, host, port, isNeeded }: OwnPort): Promise<Verdict> {
  const error = await tryListening(host, port);
  if (error === undefined) return ok(`${port} (${what}) is free`);
  const holder = error === "EADDRINUSE" ? await findHolder(host, port) : undefined;
  if (holder === "turnd") return ok(`${port} (${what}) is served`);
  if (holder === "none") {
    return warn(
      `${port} (${what}) is held, and no program listens on it: what it is held for is being started, or has ended`,
      "wait a second and look again",
    );
  }
  const message =
    error === "EADDRINUSE"
      ? `${port} (${what}) is held by another program`
      : `${port} (${what}) on ${host} cannot be listened on: ${error}`;
  const remedy = `find it with: ss -ltnp 'sport = :${port}'`;
  return isNeeded ? fault(message, remedy) : warn(message, remedy);
}

/** @returns the system's code when it cannot be done */
async function tryListening(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  } finally {
    server.close();
  }
}

/** Who answers on a port that cannot be listened on. The image holds its ports while turnd or the front is started again. */
async function findHolder(host: string, port: number): Promise<"turnd" | "none" | "another"> {
  const name = host === "0.0.0.0" ? "127.0.0.1" : host.includes(":") ? "[::1]" : host;
  try {
    const response = await fetch(`http://${name}:${port}/turnd-doctor`, {
      redirect: "manual",
      signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
    });
    return OwnAnswer.safeParse(await response.json()).success ? "turnd" : "another";
  } catch (error) {
    // A server without HTTP, or without JSON, is not ours.
    return error instanceof Error && isRefused(error.cause) ? "none" : "another";
  }
}

function isRefused(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}
