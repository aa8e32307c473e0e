import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ShellExit, ShellRequest, ShellSession, TerminalSize, Ticket } from "../../protocol/index.ts";

/** A part of a shell's output, as bytes. */
export interface OutputSlice {
  /** Of the first byte. */
  readonly offset: number;
  readonly bytes: Buffer;
  /**
   * Offset after the bytes that were examined: beyond `bytes` where a character is incomplete. Nothing new is before
   * it.
   */
  readonly seen: number;
  /** Requested output before `offset` is lost. */
  readonly isTruncated: boolean;
  /** Present when the shell has ended and these are its last bytes. */
  readonly exit?: ShellExit;
}

export interface OutputOptions {
  /** Cut between UTF-8 characters, so that each slice is valid text. */
  readonly isText: boolean;
  readonly maxBytes?: number;
}

/** What the HTTP room may ask of the terminal. Refusals are thrown as `ProblemError`. */
export interface TerminalService {
  /**
   * The URL of a terminal: a new one's, or that of a shell or turn session; undefined where this turnd does not serve the
   * page.
   *
   * @param host - where the front was asked, as `name:port`, for a request that came through it
   * @throws {ProblemError} session_not_found
   */
  url(sessionId?: string, host?: string): string | undefined;
  /** @throws {ProblemError} session_not_found, too_many_shells, workspace_unusable, shutting_down */
  open(request: ShellRequest): Promise<{ readonly session: ShellSession; readonly isNew: boolean }>;
  list(): ShellSession[];
  /** @throws {ProblemError} shell_not_found */
  get(id: string): ShellSession;
  /** The output so far from an offset on, at once. @throws {ProblemError} shell_not_found, cursor_beyond_end */
  read(id: string, offset: number, options: OutputOptions): OutputSlice;
  /** Resolves when there is output from an offset on, the shell has ended, or the signal aborts. */
  grown(id: string, offset: number, signal: AbortSignal): Promise<void>;
  /** Continues to the shell's end; the reader counts as a viewer. */
  follow(
    id: string,
    offset: number,
    options: OutputOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<OutputSlice>;
  /**
   * @returns the offset of the output at that moment.
   *
   * @throws {ProblemError} shell_not_found, shell_ended, shell_busy
   */
  input(id: string, text: string): number;
  /** @throws {ProblemError} shell_not_found, shell_ended */
  resize(id: string, size: TerminalSize): ShellSession;
  /** Resolves when no process of the shell is left. @throws {ProblemError} shell_not_found */
  close(id: string): Promise<void>;

  /**
   * Gives a ticket for a terminal, or for a new one where no id is given.
   *
   * @throws {ProblemError} unauthorized, session_not_found
   */
  issueTicket(sessionId: string | undefined, isTrusted: boolean): Ticket;
  /**
   * Takes over a connection that asks for a WebSocket and whose Host and Origin have been checked.
   * @throws {ProblemError} unauthorized without a good ticket, shutting_down; nothing has been written then
   */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}
