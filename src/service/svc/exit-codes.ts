/** What the process ends with. */
export const EXIT = {
  done: 0,
  /** The service reported a fault, some files failed, or `find` matched nothing. */
  failed: 1,
  usage: 2,
  notLoggedIn: 3,
  notPermitted: 4,
  notFound: 5,
  unreachable: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A fault that ends a command, in words for the person who typed it. */
export class SvcError extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;
  /** Of the answer that refused; null where none came. */
  readonly status: number | null;
  /** Further fields of the refusal. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    options: {
      readonly exitCode?: ExitCode;
      readonly status?: number | null;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "SvcError";
    this.code = code;
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.status = options.status ?? null;
    this.details = options.details ?? {};
  }
}

/** Thrown for what was typed wrongly. */
export function usageError(message: string): SvcError {
  return new SvcError("usage", message, { exitCode: EXIT.usage });
}

/** The exit code that an answer's status stands for. */
export function exitCodeOf(status: number): ExitCode {
  switch (status) {
    case 401:
      return EXIT.notLoggedIn;
    case 403:
      return EXIT.notPermitted;
    case 404:
      return EXIT.notFound;
    case 408:
    case 504:
      return EXIT.unreachable;
    default:
      return EXIT.failed;
  }
}
