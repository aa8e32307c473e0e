import type { GroupLimits } from "../process/cgroup/cgroup-files.ts";
import type { RunAs } from "../process/run-as.ts";
import type { ExecutorRuntime } from "../turns/executors/executor-runtime.ts";

/** What a check comes to. A warning leaves turnd working, less well or less safely. */
export interface Verdict {
  readonly level: "ok" | "warn" | "fault";
  /** One sentence: what was found. */
  readonly message: string;
  /** What a person can do about it. */
  readonly remedy?: string;
}

/** A question about the machine. It changes nothing that stays, and reports no secret. */
export interface Check {
  readonly name: string;
  /** What is looked at, for the documentation. */
  readonly about: string;
  look(subject: Subject): Promise<Verdict>;
}

/** The image or machine that is looked at, as its environment describes it. */
export interface Subject {
  readonly home: string;
  readonly stateDirectory: string;
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
  readonly runAs: RunAs;
  /** Where the machine's users are named. */
  readonly accountsFile: string;
  /** The allow-listed part of the environment, which the CLIs get. */
  readonly env: Readonly<Record<string, string>>;
  readonly executors: readonly ExecutorRuntime[];
  readonly ports: readonly OwnPort[];
  readonly hasToken: boolean;
  readonly tokenFile: string | undefined;
  /** Each turn's and shell's own, where control groups can be used. */
  readonly turnLimits: { readonly isOff: boolean } & GroupLimits;
  readonly keeperPath: string;
  /** A new directory of turnd's own user that is removed afterwards. */
  readonly ownScratch: string;
  /** The same, of the CLIs' user. */
  readonly scratch: string;
  readonly now: Date;
  /** Aborts when the doctor is to stop: nothing that was started for a check stays. */
  readonly signal: AbortSignal;
}

/** A port that turnd, or what belongs to it, listens on. */
export interface OwnPort {
  readonly what: string;
  readonly host: string;
  readonly port: number;
  /** False for one that only an image has. */
  readonly isNeeded: boolean;
}

export function ok(message: string): Verdict {
  return { level: "ok", message };
}

export function warn(message: string, remedy: string): Verdict {
  return { level: "warn", message, remedy };
}

export function fault(message: string, remedy: string): Verdict {
  return { level: "fault", message, remedy };
}

/** The worst of several, or the first. */
export function worst(verdicts: readonly [Verdict, ...Verdict[]]): Verdict {
  return (
    verdicts.find(({ level }) => level === "fault") ?? verdicts.find(({ level }) => level === "warn") ?? verdicts[0]
  );
}

/** `uid 1000, mode 700`, for messages. */
export function describeOwner({ uid, mode }: { readonly uid: number; readonly mode: number }): string {
  return `uid ${uid}, mode ${(mode & 0o7777).toString(8)}`;
}
