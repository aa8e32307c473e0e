import type { RequestedTransport } from "../../../protocol/index.ts";
import type { Redact } from "../../event-log/redact.ts";
import type { Configuration } from "../../executors/contract/configuration.ts";
import type { Executor } from "../../executors/contract/executor.ts";
import type { RunAs } from "../../process/run-as.ts";
import type { WithTemporaryHome } from "../../process/user-files/temporary-home.ts";

export interface ExecutorRuntimeOptions {
  readonly executor: Executor;
  readonly cliName: string;
  readonly configuration: Configuration;
  /** `<prefix>_BIN`, such as `CLI_A_BIN`. */
  readonly explicitBinary?: string;
  /** The allow-listed environment, PATH among it. */
  readonly env: Readonly<Record<string, string>>;
  readonly runAs: RunAs;
  /** Gives a home of that user's for one command: a CLI writes even when it is asked only for its version. */
  readonly withTemporaryHome: WithTemporaryHome;
  /** Whether the provider is asked if it has the API that the CLI needs: `TURND_CHECK_PROVIDER`. */
  readonly isProviderChecked: boolean;
  /** Whether turns run without the executor's `codeGuard`: `TURND_ALLOW_WORKSPACE_PLUGINS`. */
  readonly allowsWorkspaceCode: boolean;
  /** How turns are driven that do not say, and whether they have limits of their own, which a server's could not be. */
  readonly transport: { readonly wanted: RequestedTransport; readonly hasGroups: boolean };
  /** Takes secrets out of what is shown of it: providers and CLIs quote them. */
  readonly redact: Redact;
  readonly now: () => Date;
}
