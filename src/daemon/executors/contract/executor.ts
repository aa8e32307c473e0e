// Over 300 lines: the one interface of a CLI, most of it docstrings, read as a whole by whoever adds a third.
import type { z } from "zod";
import type {
  Capabilities,
  CliName,
  DecidedOn,
  EffectiveSetting,
  Evidence,
  FailureCode,
  McpServers,
  Mode,
  Native,
  Permissions,
  TurnEvent,
  Usage,
} from "../../../protocol/index.ts";
import type { DriftWatch, RecordTable } from "../drift/drift.ts";
import type { Fact, FailureRule } from "../classification/rules.ts";

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
  /** The name its binary was built with; a binary of that name is served too. */
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
  /** Where the native binary lies, seen from the directory of a Node wrapper that is found on PATH instead; best first. */
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
  /** What a session's home must hold before a turn. */
  planHome(input: HomeInput): HomePlan;
  /** Arguments after the program's name. The prompt is never among them: it is the file on stdin. */
  buildArgs(invocation: Invocation): string[];
  /** Whether an id has the form of the CLI's own session ids; anything else never reaches the CLI. */
  isNativeSessionId(id: string): boolean;
  /** Every rule that can decide a failure, in deciding order: the documented table. */
  readonly failureRules: readonly DescribedRule[];
  /** How `turnd probe` plays with this CLI; absent: it is not probed. */
  readonly probe?: ProbePlan;
  /** What its records look like: the measure of drift. */
  readonly records: RecordTable;
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
  /** How to find out whether the CLI's own sandbox can work here; absent when it has none. */
  readonly sandboxProbe?: SandboxProbe;
  checkConfiguration(configuration: Configuration): ConfigurationCheck;
  /** Files outside a session's home that the CLI would read as configuration; `~/` is the home of its user. */
  strayConfiguration(cliName: string): readonly string[];
  /**
   * How to find out whether the provider speaks the API that this CLI cannot do without.
   *
   * Absent when the CLI speaks more than one; undefined when the configuration does not name it.
   */
  probeProvider?(configuration: Configuration): ProviderProbe | undefined;
}

/** What is known of a CLI's records that its recordings do not show. */
export interface ShapeSource {
  /** The package of `sandbox/package.json` that pins the version whose recordings count; absent: `contractVersion`. */
  readonly pin?: string;
  /** What the translator reads of a record. */
  readonly reads: z.ZodType;
  /** What it reads of a part that this schema leaves open. */
  readonly readsWithin: Readonly<Record<string, readonly z.ZodType[]>>;
  /** Measured on the pinned version, but in none of its recordings: `<kind> <path>`. */
  readonly documented: readonly string[];
  /** What is not the CLI's own: whatever a provider, a tool's server or a language server puts there. */
  readonly open: readonly string[];
}

/** How a CLI is probed: its turns' model is a scripted one on loopback. */
export interface ProbePlan {
  /** Variables by which the CLI asks the scripted model at that address. */
  provider(modelUrl: string): Readonly<Record<string, string>>;
  /** Further ones, by which its turns need nothing that not every machine allows. */
  readonly variables: Readonly<Record<string, string>>;
  /** What the version that turnd knows did in every scenario: `probe-baseline.json`, by `scripts/generate/probe-baseline.ts`. */
  loadBaseline(): Promise<unknown>;
  /** Whether a scenario of `probe/scenarios.ts` means something for this CLI. */
  plays(scenario: string): boolean;
  /** Scenarios that do not end by themselves, and the event at which each is cancelled. */
  readonly cancelAt: Readonly<Record<string, TurnEvent["type"]>>;
}

/** A variable of the operator's, as the reference documents it. */
export interface Variable {
  readonly name: string;
  readonly meaning: string;
}

/** A candidate for the native binary. `path` is relative to the `node_modules` directory that holds the wrapper's package. */
export interface NativeBinary {
  readonly path: string;
  /** The CPU feature it needs, as /proc/cpuinfo spells it. */
  readonly needs?: string;
}

/** A command that ends with 0 where the CLI's sandbox works. It runs as the CLI's user. */
export interface SandboxProbe {
  readonly args: readonly string[];
  /** Whether a turn in this mode needs the sandbox under this configuration; a session's permissions can call for it. */
  isNeeded(configuration: Configuration, mode: Mode, permissions?: Permissions): boolean;
  /** How an operator switches it off for execution turns, to be read after "or "; absent where that is impossible. */
  readonly switchOff?: string;
}

/** How the CLI itself is made to check its configuration: without a prompt, a model or a network. */
export interface ConfigurationCheck {
  readonly args: readonly string[];
  /** A file that the CLI refuses wherever it reads one: shows that it reads what turnd writes. */
  readonly unacceptable: string;
  /** What is wrong with it; undefined when nothing is. Quotes no line of the file: there may be a key in it. */
  judge(result: { readonly code: number | null; readonly stderr: string }): ConfigurationFault | undefined;
}

export interface ConfigurationFault {
  readonly message: string;
  /** False for what the CLI passes over. */
  readonly keepsFromRunning: boolean;
}

/** A POST request that costs no tokens, since it names no model and holds no prompt; and what its answer proves. */
export interface ProviderProbe {
  readonly url: string;
  /** The key among them: never shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  judge(answer: ProviderAnswer): ProviderVerdict;
}

export interface ProviderAnswer {
  readonly status: number;
  /** Its head, when it is long. */
  readonly body: string;
}

/** `unproven` is no obstacle: the turn runs, and fails with its own cause if it has to. */
export interface ProviderVerdict {
  readonly api: "present" | "absent" | "unproven";
  /** One sentence, without anything from the headers or the body. */
  readonly message: string;
  /** What a person can do about it, to be read after "; ". */
  readonly remedy?: string;
}

export interface ConfigureInput {
  /** The whole environment of turnd; the executor picks its own variables and names them in messages. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the CLI is called here: `CLI_A_NAME`, `CLI_B_NAME`. */
  readonly cliName: string;
}

export type ConfigureResult =
  | { readonly ok: true; readonly configuration: Configuration }
  /** One sentence a fault, each naming the variable to change. No key is ever quoted. */
  | { readonly ok: false; readonly errors: readonly string[] };

/** What the operator's variables come to. */
export interface Configuration {
  /** False when no variable was set: then there is nothing to render. */
  readonly isConfigured: boolean;
  /** The configuration file of the uid-1000 home, which `turnd render` writes; its path is relative to that home. */
  readonly files: readonly ConfigFile[];
  /** Variables the CLI's process gets besides the allow-list: keys, and whatever the configuration refers to. */
  readonly env: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  /** For people: secrets masked, each with its origin. */
  readonly effective: readonly EffectiveSetting[];
  /** Values to be redacted wherever they turn up. */
  readonly secrets: readonly string[];
  /** Default model as the CLI wants it, when the configuration names one. */
  readonly model?: string;
  /** Known before any process starts: a turn with the configured model fails with this. */
  readonly fault?: { readonly code: FailureCode; readonly message: string };
  /** The executor's own notes for `planHome` and `buildArgs`; opaque to everyone else. */
  readonly details: unknown;
}

/** A file for the CLI's user, mode 0600. */
export interface ConfigFile {
  readonly path: string;
  readonly content: string;
}

export interface HomeInput {
  /** Absolute path of the session's home. */
  readonly home: string;
  readonly cliName: string;
  readonly configuration: Configuration;
  readonly permissions: Permissions;
  readonly mode: Mode;
  /** Of this turn's request; the operator's are in the configuration. */
  readonly mcpServers?: McpServers;
  /** As the request gave it; a CLI that knows only the models of its configuration needs it there. */
  readonly model?: string;
  /** Of the binary that will run, when known. */
  readonly cliVersion?: string;
}

/** Paths are relative to the session's home. */
export interface HomePlan {
  readonly directories: readonly string[];
  readonly files: readonly ConfigFile[];
  /** Other configuration files the CLI would read there; they are removed, with a warning. */
  readonly forbidden: readonly string[];
  /** Variables with absolute paths in them, and the CLI's switches. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Invocation {
  readonly mode: Mode;
  readonly configuration: Configuration;
  /** As the request gave it; absent for the configured one. */
  readonly model?: string;
  readonly agent?: string;
  readonly effort?: string;
  /** A native session id that `isNativeSessionId` accepted. */
  readonly resume?: string;
  readonly workspace: string;
  readonly permissions: Permissions;
  /** Absolute paths of files the CLI opens by name. */
  readonly images: readonly string[];
  readonly outputSchema?: string;
}

/** One line of the CLI's output. `text` has no newline; invalid UTF-8 is U+FFFD. */
export interface OutputLine {
  readonly source: "stdout" | "stderr";
  /** 1-based, counting every line of that file, blank ones too. */
  readonly number: number;
  readonly text: string;
  /** True when the line is longer than `TURND_MAX_LINE_BYTES` and `text` is only its head. */
  readonly isTruncated: boolean;
}

export interface TranslatorInput {
  /** The id a resume asked for, otherwise null. */
  readonly requestedSession: string | null;
  /** Version of the CLI that printed, when known. */
  readonly cliVersion?: string;
  /** What the native session had used before this turn; for CLIs that count over the whole session. Absent: unknown. */
  readonly usageBefore?: Usage;
  /** Shown every record, for what the translation does not look at. */
  readonly drift?: DriftWatch;
}

/** An event and the line it comes from. */
export type TranslatedEvent = TurnEvent & { readonly native?: Native };

export interface Translation {
  readonly events: readonly TranslatedEvent[];
  /** A step has ended and no tool is open: a steered turn may be stopped here. */
  readonly isStepBoundary?: boolean;
  /** The process must not go on: another session than the requested one came back, or the CLI repeats itself without end. Becomes the failure. */
  readonly halt?: FailureDraft;
}

/** Turns lines into events. State is local to one process. Never throws, whatever the line holds (law 5). */
export interface Translator {
  push(line: OutputLine): Translation;
  /**
   * How to get at what the process did and did not print; asked once all it printed is read.
   *
   * Absent for a CLI that prints all it does; undefined when nothing seems to be missing.
   */
  findLost?(outcome: Outcome): Recovery | undefined;
  /** Called once, after the last line of both files. */
  end(outcome: Outcome): Ending;
}

export interface Outcome {
  /** How the process ended; null when it is not known (its keeper is gone). */
  readonly exit: { readonly code: number | null; readonly signal: string | null } | null;
  /** Whether turnd itself ended the process (cancel, watchdog, shutdown): then a signal or a missing end proves nothing. */
  readonly wasStopped: boolean;
}

/** A command of the CLI's own that prints what its store holds, and what stdout lacks of that. */
export interface Recovery {
  /** It changes nothing, asks no model, and runs where the turn's process ran, its stdout a file. */
  readonly args: readonly string[];
  /**
   * What is to be appended to `stdout.jsonl`, so that every reader, now and later, finds it there.
   *
   * @param stored - what the command printed
   * @param startedAtMs - milliseconds since 1970; nothing older belongs to the turn
   * @returns lines as the CLI would have printed them, after one that marks them; empty when the store holds no more
   */
  readLines(stored: string, startedAtMs: number): readonly string[];
}

/** What a process came to, by what it left behind alone. `turns/` decides what turnd's own acts make of it. */
export interface Ending {
  /** What only the end shows, such as calls that never ended (`tool.ended`, `interrupted`). */
  readonly events: readonly TranslatedEvent[];
  /** Text of the last assistant message. */
  readonly output: string | null;
  readonly nativeSessionId: string | null;
  /** The requested id came back. */
  readonly isResumed: boolean;
  /** Of this turn, and of those before it in its native session that told no total. */
  readonly usage?: Usage;
  readonly costUsd?: number;
  /** The last total that the native session has told, for the next turn's `usageBefore`. */
  readonly usageAfter?: Usage;
  /** Absent: completed, as `proof` shows (law 4). */
  readonly failure?: FailureDraft;
  /** The positive evidence the contract names; there exactly when `failure` is not. */
  readonly proof?: Proof;
}

/** What proves that a process completed its turn. */
export interface Proof {
  readonly evidence: readonly Evidence[];
  /** A recording in which it stands. */
  readonly seenIn: string;
}

/** A rule as people are told of it. */
export interface DescribedRule {
  readonly rule: string;
  readonly code: FailureCode;
  readonly on: DecidedOn;
  /** `<executor>/<version>/<case>`, or the section it comes from. */
  readonly seenIn: string;
}

/** What a table's decision rests on: enough to try every rule again, for whoever asks how it came about. */
export interface Basis {
  readonly rules: readonly FailureRule[];
  readonly facts: readonly Fact[];
}

/** A failure before the advice of its code is added. */
export interface FailureDraft {
  readonly code: FailureCode;
  /** What happened, one sentence. */
  readonly message: string;
  /** What a person can do about it, to be read after "; ". Absent: what the code's advice says. */
  readonly remedy?: string;
  readonly evidence: readonly Evidence[];
  /** True when the CLI's own words show the cause; false for what is only inferred from how it ended. */
  readonly isProven: boolean;
  /** Id of the rule that decided, and where it looked. */
  readonly rule: string;
  readonly on: DecidedOn;
  readonly seenIn?: string;
  /** The table this came from, and what its rules were tried on; absent for what no table decided. */
  readonly basis?: Basis;
}
