import { createClient, type Client } from "./client.ts";
import { createTerminal, type Environment, type Terminal } from "../../kit/command-line/terminal.ts";
import type { Target } from "./target.ts";

/** The options that every command takes. */
export interface CommonOptions {
  readonly remote?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly insecure?: boolean;
}

/** What a command works with. */
export interface Context extends Environment {
  readonly options: CommonOptions;
  readonly terminal: Terminal;
  /** The service and the key. @throws {SvcError} not_logged_in, remote_unknown, insecure_url */
  target(): Promise<Target>;
  /** The service, asked as the person who is logged in. @throws {SvcError} as `target` */
  client(): Promise<Client>;
}

/** Makes what a command works with from the process and the options that were given. */
export function createContext(environment: Environment, options: CommonOptions): Context {
  const terminal = createTerminal(environment, options);
  // Loaded when it is needed: what reads the logins takes longer to load than a manual to show.
  const target = async (): Promise<Target> =>
    (await import("./target.ts")).chooseTarget(environment.env, options, terminal);
  return {
    ...environment,
    options,
    terminal,
    target,
    async client() {
      return createClient({ ...(await target()), signal: environment.signal });
    },
  };
}
