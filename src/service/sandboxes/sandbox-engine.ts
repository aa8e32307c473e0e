import type { SandboxKind } from "../protocol/sandboxes.ts";

/** One start of a sandbox. A token, an address and a set of processes belong to a generation; the volume to all of them. */
export interface InstanceName {
  readonly id: string;
  readonly generation: number;
}

/** What the engine has of ours. */
export type EngineItem =
  | (InstanceName & { readonly what: "instance"; readonly isRunning: boolean })
  | { readonly what: "volume"; readonly id: string; readonly createdAt: Date };

/**
 * What runs sandboxes: Docker, Kubernetes. It uses no rows; all that it makes is labelled `svc.instance`, `svc.sandbox` and,
 * where it belongs to one start, `svc.generation`. Everything may be repeated.
 */
export interface SandboxEngine {
  readonly kind: Exclude<SandboxKind, "embedded" | "static">;
  /** What sandboxes are made of, for their rows: no secrets. */
  readonly spec: Readonly<Record<string, unknown>>;
  /**
   * Starts an instance on the sandbox's volume, once every instance of an older generation is gone.
   *
   * @returns where its turnd will answer
   */
  launch(name: InstanceName, token: string, signal: AbortSignal): Promise<string>;
  /** Where an instance answers; undefined: it does not run. @throws when the engine does not answer */
  find(name: InstanceName): Promise<string | undefined>;
  /** What it printed last, for a person. */
  lastLines(name: InstanceName): Promise<string>;
  /** Ends an instance, with time for turnd to end its turns, and removes it; the volume stays. Resolves when it is gone. */
  halt(name: InstanceName): Promise<void>;
  /** Removes every instance of a sandbox and its volume. */
  remove(id: string): Promise<void>;
  list(): Promise<readonly EngineItem[]>;
  /** Whether it could start one now. */
  look(): Promise<{ readonly ok: boolean; readonly message?: string }>;
}

/** The labels of what belongs to a service, a sandbox and, where it does, one start of it. */
export function ownLabels(instanceId: string, id: string, generation?: number): Record<string, string> {
  return {
    "svc.instance": instanceId,
    "svc.sandbox": id,
    ...(generation === undefined ? {} : { "svc.generation": String(generation) }),
  };
}

/** Longest stop of turnd in a sandbox, by `TURND_SHUTDOWN_MS`. */
export const TURND_SHUTDOWN_MS = 3_500;
/** What an engine waits before it kills. */
export const GRACE_SECONDS = Math.ceil((TURND_SHUTDOWN_MS + 5_000) / 1_000);
/** Where the front of an instance answers: what the image listens on by default (`SANDBOX_PORT`). */
export const TURND_PORT = 8080;
/** Where an instance finds its token: root's own, so that the CLIs' user cannot read it. */
export const TOKEN_FILE = "/run/secrets/turnd-token";

/** What every sandbox may use. */
export interface SandboxLimits {
  readonly cpus: number;
  readonly memoryMb: number;
  readonly pids: number;
}

/** The capabilities that turnd needs to run the CLIs as a user of their own; see sandbox/README.md. */
export const CAPABILITIES = ["CHOWN", "DAC_READ_SEARCH", "KILL", "SETGID", "SETPCAP", "SETUID"] as const;

/** The service's variables that a sandbox gets, by patterns such as `CLI_A_*`. */
export function passedVariables(
  env: Readonly<Record<string, string | undefined>>,
  patterns: readonly string[],
): Record<string, string> {
  const passes = (name: string): boolean =>
    patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && value !== "" && passes(name) ? [[name, value]] : [],
    ),
  );
}

/** The settings of turnd in a sandbox that the service sets itself, over those that are passed. */
export const OWN_VARIABLES = {
  TURND_TOKEN_FILE: TOKEN_FILE,
  TURND_SHUTDOWN_MS: String(TURND_SHUTDOWN_MS),
} as const;
