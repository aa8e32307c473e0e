import { TurndHistoryError, TurndProtocolError, TurndUnreachable } from "../../client/errors.ts";
import { ProblemError } from "../../protocol/index.ts";
import { safeLine } from "../../../kit/command-line/text.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";

/** A fault that ends a command, in words for the person who typed it. */
export class ClientFailure extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, exitCode: ExitCode, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "ClientFailure";
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** Wrong arguments. */
export function usageFailure(message: string): ClientFailure {
  return new ClientFailure("usage", message, EXIT.usage);
}

/**
 * The message and the exit code of an error.
 *
 * @param url - of the turnd that was asked
 * @throws an error that is a fault of this program
 */
export function explain(error: unknown, url: string, hasToken: boolean): ClientFailure {
  if (error instanceof ClientFailure) return error;
  if (error instanceof ProblemError) return explainProblem(error, url, hasToken);
  if (error instanceof TurndUnreachable) {
    const why = isTlsFault(error) ? `${url} does not speak TLS: is it http?` : safeLine(error.message);
    const message = `no turnd answers at ${url}: start one with \`npm start\` or name another with --url (${why})`;
    return new ClientFailure("unreachable", message, EXIT.unreachable, error);
  }
  if (error instanceof TurndHistoryError) {
    return new ClientFailure(`history_${error.reason}`, error.message, EXIT.failed, error);
  }
  if (error instanceof TurndProtocolError) {
    return new ClientFailure("protocol", `${error.message}: is there a turnd at ${url}?`, EXIT.failed, error);
  }
  if (error instanceof Error && "syscall" in error) {
    return new ClientFailure("system_error", error.message, EXIT.failed, error);
  }
  throw error;
}

/** OpenSSL's messages have a number, a place in its source and a line feed. */
function isTlsFault({ cause }: Error): boolean {
  const within = cause instanceof Error ? cause.cause : undefined;
  return within instanceof Error && "code" in within && within.code === "ERR_SSL_WRONG_VERSION_NUMBER";
}

function explainProblem(error: ProblemError, url: string, hasToken: boolean): ClientFailure {
  const { code, message } = error;
  if (code === "unauthorized") {
    const what = hasToken ? `${url} refuses the token` : `${url} asks for a token`;
    return new ClientFailure(code, `${what}: set TURND_TOKEN, or name its file with --token-file`, EXIT.unauthorized);
  }
  return new ClientFailure(code, message, error.status === 404 ? EXIT.notFound : exitCodeOf(code), error);
}

/** Refused as wrong, whatever turnd has. */
const USAGE: ReadonlySet<string> = new Set<ProblemError["code"]>([
  "invalid_request",
  "workspace_unusable",
  "mode_unsupported",
  "invalid_path",
]);

function exitCodeOf(code: ProblemError["code"]): ExitCode {
  return USAGE.has(code) ? EXIT.usage : EXIT.failed;
}
