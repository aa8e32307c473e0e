import type { McpServers, Mode, Permissions, Transport } from "../../../protocol/index.ts";
import type { CliFeatures } from "./cli-features.ts";
import type { ConfigFile, Configuration } from "./configuration.ts";
import type { KeptDirectory, TidyLines } from "./home-state.ts";

export interface HomeInput {
  /** Absolute path of the session's home. */
  readonly home: string;
  readonly cliName: string;
  /** HOME of the CLIs' user: for what a CLI starts, where it has a home of its own. Absent: nothing is started. */
  readonly userHome?: string;
  readonly configuration: Configuration;
  readonly permissions: Permissions;
  readonly mode: Mode;
  /** Of this turn's request and its session; the operator's are in the configuration. */
  readonly mcpServers?: McpServers;
  /** Of the session and of the turn: given to the model besides the configuration's instructions. */
  readonly instructions?: string;
  /** Whether the session's last turn had others, or none; absent: not known. */
  readonly hasNewInstructions?: boolean;
  /** As the request gave it; a CLI that knows only the models of its configuration needs it there. */
  readonly model?: string;
  /** Of the binary that will run, when known. */
  readonly cliVersion?: string;
  /** What that binary answered to `featureQuestion`; absent: not asked, or no answer. */
  readonly cliFeatures?: CliFeatures;
  /** How the CLI will be driven; absent: a process for the turn. */
  readonly transport?: Transport;
  /** Leaves out the executor's `codeGuard`; absent: it is put into the environment. */
  readonly allowsWorkspaceCode?: boolean;
}

/** Paths are relative to the session's home. */
export interface HomePlan {
  readonly directories: readonly string[];
  readonly files: readonly ConfigFile[];
  /** Other configuration files the CLI would read there; they are removed, with a warning. */
  readonly forbidden: readonly string[];
  /** What must be plain files and directories, all the way and below: another CLI would wait for ever, or be led elsewhere. */
  readonly plain?: readonly string[];
  /** Directories in which nothing else stays when a turn begins. */
  readonly kept?: readonly KeptDirectory[];
  /** What a history may say when it is resumed. */
  readonly history?: TidyLines;
  /** Directories from which the CLI would start programs; made empty before a turn, since tools can write there. */
  readonly emptied?: readonly string[];
  /** What the CLI leaves and never reads again; removed when a turn has ended, and before one. */
  readonly leftovers?: readonly string[];
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
  /** As for `HomeInput`. */
  readonly userHome?: string;
  /** Absolute paths of files the CLI opens by name. */
  readonly images: readonly string[];
  readonly outputSchema?: string;
  /** As for `HomeInput`. */
  readonly cliFeatures?: CliFeatures;
}
