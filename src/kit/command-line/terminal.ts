import { takesColors } from "./colors.ts";
import { safeJson } from "./text.ts";

/** The process around a command; a test gives its own. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** What a command shows: text for people, or one JSON document. */
export interface Terminal {
  readonly isJson: boolean;
  /** Whether there is a terminal to ask questions on. */
  readonly isInteractive: boolean;
  /** The answer, for people; nothing with `--json`. */
  text(text: string): void;
  /** The answer, for programs; nothing without `--json`. */
  json(body: unknown): void;
  /** What helps a person and is no part of the answer; on stderr, not with `--quiet`. */
  notice(text: string): void;
  /** What a person must see, also with `--quiet`; on stderr. */
  warn(text: string): void;
  /** Emphasis, on a terminal that takes colours. */
  bold(text: string): string;
  /** A line on stderr that is drawn again and again; only on a terminal. */
  drawStatus(line: string): void;
  clearStatus(): void;
  /** Columns of stderr. */
  readonly columns: number;
}

export interface TerminalOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

/** Shows on the streams of a process. */
export function createTerminal({ env, stdin, stdout, stderr }: Environment, options: TerminalOptions): Terminal {
  const isJson = options.json === true;
  const isQuiet = options.quiet === true;
  const hasColors = takesColors(stdout, env);
  const hasStatus = stderr.isTTY && !isQuiet && env["TERM"] !== "dumb";
  let hasDrawn = false;

  function clearStatus(): void {
    if (hasDrawn) stderr.write("\r\u001b[K");
    hasDrawn = false;
  }

  const onStderr = (text: string): void => {
    clearStatus();
    stderr.write(`${text}\n`);
  };

  return {
    isJson,
    isInteractive: stdin.isTTY && stderr.isTTY,
    text(text) {
      if (isJson) return;
      clearStatus();
      stdout.write(`${text}\n`);
    },
    json(body) {
      if (isJson) stdout.write(`${safeJson(body)}\n`);
    },
    notice: (text) => {
      if (!isQuiet) onStderr(text);
    },
    warn: onStderr,
    bold: (text) => (hasColors ? `\u001b[1m${text}\u001b[22m` : text),
    drawStatus(line) {
      if (!hasStatus) return;
      stderr.write(`\r${line}\u001b[K`);
      hasDrawn = true;
    },
    clearStatus,
    // A terminal may be made narrower, and one without a size has 0.
    get columns() {
      return stderr.columns || 80;
    },
  };
}
