import type { Readable } from "node:stream";
import type { FileEntry, FileList } from "../../protocol/index.ts";
import type { WorkspacePath } from "./file-path.ts";

/** A file, directory or link that was found, and a process of the CLIs' user that has it open. */
export interface FoundFile {
  readonly entry: FileEntry;
  /** How long a reader may take no byte. */
  readonly stallMs: number;
  /** Aborts when the process is ended, since no byte of it was taken for so long or since its session is gone. */
  readonly stalled: AbortSignal;
  /** Bytes of a file, at the reader's speed. Ends with an error where the file became shorter meanwhile. */
  read(offset: number, length: number): AsyncIterable<Buffer>;
  /** A page of a directory. */
  list(options: { readonly limit: number; readonly after?: string }): Promise<FileList>;
  /** A directory as a zip. @throws {ProblemError} archive_too_large */
  zip(): Promise<Readable>;
  /** Ends the process. Safe to call twice. */
  close(): Promise<void>;
}

/** What has to be true of what is at a path, for it to be changed. */
export interface FileCondition {
  /** Nothing may be there. */
  readonly isAbsent?: boolean;
  /** The version that has to be there; `*` is any. */
  readonly version?: string;
}

/** A session's workspace, as the HTTP room names it. */
export interface Workspace {
  readonly sessionId: string;
  readonly workspace: string;
  /** Aborts when nobody waits for an answer any more: what is done for it ends. A write ends with its body. */
  readonly left?: AbortSignal;
}

/** The files of sessions' workspaces. Everything is done by processes of the CLIs' user, and no link is followed. */
export interface FileService {
  /** @throws {ProblemError} file_not_found, file_forbidden, too_many_transfers, … */
  find(where: Workspace, path: WorkspacePath): Promise<FoundFile>;
  /**
   * Writes a file as a whole: until it has arrived, what is at the path stays; where it does not, nothing of it is left.
   *
   * @param body - is not destroyed where the file is refused
   */
  write(
    where: Workspace,
    path: WorkspacePath,
    body: Readable,
    options: FileCondition & { readonly isExecutable: boolean },
  ): Promise<{ readonly isNew: boolean; readonly entry: FileEntry }>;
  /** Makes a directory and its parents. */
  make(where: Workspace, path: WorkspacePath): Promise<{ readonly isNew: boolean; readonly entry: FileEntry }>;
  remove(
    where: Workspace,
    path: WorkspacePath,
    options: FileCondition & { readonly isRecursive: boolean },
  ): Promise<void>;
  /** Whether something is done in the workspace of a session. */
  isInUse(sessionId: string): boolean;
  /** Ends what is done in the workspace of a session that has been deleted. Resolves when nothing of it is left. */
  endSession(sessionId: string): Promise<void>;
}
