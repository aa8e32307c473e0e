import type { EffectiveSetting, FailureCode } from "../../../protocol/index.ts";

/** A variable of the operator's, as the reference documents it. */
export interface Variable {
  readonly name: string;
  readonly meaning: string;
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
