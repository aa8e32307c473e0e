import type { Capabilities, CliName } from "../../../protocol/index.ts";
import type { CodeGuard } from "./code-guard.ts";
import type { FeatureQuestion } from "./cli-features.ts";
import type { Configuration, ConfigurationCheck, ConfigureInput, ConfigureResult, Variable } from "./configuration.ts";
import type { DescribedRule } from "./failures.ts";
import type { InteractiveExecutor } from "./interactive.ts";
import type { HomeInput, HomePlan, Invocation } from "./invocation.ts";
import type { ProbePlan } from "./probe-plan.ts";
import type { ProviderRequest } from "./provider-request.ts";
import type { RecordSign } from "./record-sign.ts";
import type { RecordTable, ShapeSource } from "./records.ts";
import type { SandboxCheck } from "./sandbox-check.ts";
import type { Translator, TranslatorInput } from "./translator.ts";

/**
 * Our code for one CLI: configuration, command, records, failures. Pure: no files, no processes, no network, no clock.
 * A new CLI is one folder that exports one of these, and one line in `registry.ts`.
 */
export interface Executor {
  readonly id: CliName;
  /** What people call it, in messages and documents: `CLI A`. */
  readonly label: string;
  /** What the CLI is called when no setting says otherwise. */
  readonly defaultName: CliName;
  /**
   * The name its binary was built with; a binary of that name is served too. Requests and commands may name the executor
   * by it.
   */
  readonly builtAs: string;
  /** What the names of its variables begin with: `CLI_A`. `<prefix>_NAME` and `<prefix>_BIN` are read for every executor. */
  readonly variablePrefix: string;
  /** The version the contract was measured on. */
  readonly contractVersion: string;
  /** The oldest and the newest version whose recordings are in the repository. */
  readonly measuredVersions: readonly [string, string];
  readonly capabilities: Capabilities;
  /** The variables `configure` reads, for people. */
  readonly variables: readonly Variable[];
  /**
   * Signals that ask the CLI to stop, in order; they share the grace time. What remains is killed.
   * @see docs/contracts/cli-a.md §10, docs/contracts/cli-b.md §9
   */
  readonly stopSignals: readonly ("SIGINT" | "SIGTERM")[];
  /** Where the native binary is, seen from the directory of a Node wrapper that is found on PATH instead; best first. */
  nativeBinaries(cliName: string): readonly NativeBinary[];
  /** Reads the operator's variables. Pure: the caller writes what it returns. */
  configure(input: ConfigureInput): ConfigureResult;
  /**
   * What keeps a turn with this model from running, as far as the configuration shows.
   *
   * Absent where that is `fault` of the configuration, whatever the model.
   * @param model - as the request gave it; undefined for the configured one
   */
  findFault?(configuration: Configuration, model: string | undefined): Configuration["fault"];
  /** Absent for a CLI whose configuration is the same for every version. */
  readonly featureQuestion?: FeatureQuestion;
  /** Absent for a CLI that runs no code of a workspace by itself. */
  readonly codeGuard?: CodeGuard;
  /** What a session's home must hold before a turn. */
  planHome(input: HomeInput): HomePlan;
  /** Arguments after the program's name. The prompt is never among them: it is the file on stdin. */
  buildArgs(invocation: Invocation): string[];
  /** How its server is driven; absent: each turn is a process. */
  readonly interactive?: InteractiveExecutor;
  /** Whether an id has the form of the CLI's own session ids; anything else never reaches the CLI. */
  isNativeSessionId(id: string): boolean;
  /** Every rule that can decide a failure, in deciding order: the documented table. */
  readonly failureRules: readonly DescribedRule[];
  /** How `turnd probe` plays with this CLI; absent: it is not probed. */
  readonly probe?: ProbePlan;
  /** What its records look like: the measure of drift. */
  readonly records: RecordTable;
  /**
   * Recognises a record by itself, among those of other CLIs: how a file that holds nothing but stdout is read.
   *
   * @param record - a line of stdout, parsed
   * @returns undefined for what this CLI is not known to print
   */
  recogniseRecord(record: unknown): RecordSign | undefined;
  /** What `scripts/generate/shapes.ts` makes its `shapes.json` of, beside the recordings. */
  readonly shapeSource: ShapeSource;
  /** One translator a process. */
  createTranslator(input: TranslatorInput): Translator;
  /**
   * When the CLI printed a line of stdout, by the line itself, in milliseconds since 1970. Never throws.
   *
   * Absent for a CLI whose records have no time.
   */
  readTime?(line: string): number | undefined;
  /**
   * Which files keep every session from starting, after a resume that failed by this rule: a store that cannot be read.
   * They are set aside, not deleted, before a fresh session starts. Absent when such a store cannot come to be.
   *
   * @param rule - `rule` of the resume's `FailureDraft`
   * @returns paths relative to the session's home
   */
  corruptState?(rule: string, cliName: string): readonly string[];
  /**
   * Files that name the home's place and that the CLI makes anew from the rest of it: removed once the home is elsewhere.
   *
   * @returns paths relative to the session's home
   */
  stateOfPlace?(cliName: string): readonly string[];
  /** How to find out whether the CLI's own sandbox can work here; absent when it has none. */
  readonly sandboxCheck?: SandboxCheck;
  checkConfiguration(configuration: Configuration): ConfigurationCheck;
  /** Files outside a session's home that the CLI would read as configuration; `~/` is the home of its user. */
  strayConfiguration(cliName: string): readonly string[];
  /**
   * How to find out whether the provider has the API that this CLI needs.
   *
   * Absent when the CLI supports more than one; undefined when the configuration does not name it.
   */
  providerRequest?(configuration: Configuration): ProviderRequest | undefined;
}

/** A candidate for the native binary. `path` is relative to the `node_modules` directory that holds the wrapper's package. */
export interface NativeBinary {
  readonly path: string;
  /** The CPU feature it needs, as /proc/cpuinfo spells it. */
  readonly needs?: string;
}
