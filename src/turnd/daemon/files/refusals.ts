import { ProblemError, type ProblemCode } from "../../protocol/index.ts";
import { ResourcesExhaustedError } from "../process/exhausted.ts";
import { WorkerError } from "../process/user-files/file-worker.ts";
import { showName } from "./file-path.ts";

/** What each answer `error …` of a worker means to the client. */
const REFUSALS: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  ENOENT: ["file_not_found", "there is nothing at this path"],
  ENOTDIR: ["file_not_found", "a part of the path is no directory; links are not followed"],
  ELOOP: ["file_not_found", "a part of the path is a link, which is not followed"],
  EACCES: ["file_forbidden", "the user of the CLIs may not do that"],
  EPERM: ["file_forbidden", "the user of the CLIs may not do that"],
  EROFS: ["file_forbidden", "the file system is read-only"],
  EBUSY: ["file_forbidden", "the system uses it, as a mount point for example"],
  EEXIST: ["precondition_failed", "something is at this path already"],
  EISDIR: ["file_type_mismatch", "a directory is at this path"],
  ENOTEMPTY: ["directory_not_empty", "the directory is not empty; `recursive=true` removes all below it"],
  ENAMETOOLONG: ["invalid_path", "the path cannot be used: the file system takes no name as long as that"],
  ENOSPC: ["storage_full", "the disk of the workspace is full; nothing is left of a file that did not fit"],
  EDQUOT: ["storage_full", "the quota of the workspace is used up; nothing is left of a file that did not fit"],
  EFBIG: ["archive_too_large", "the tree has more entries than TURND_MAX_ARCHIVE_ENTRIES allows"],
  EIO: ["transfer_failed", "the disk of the workspace reports an error (EIO)"],
  filled: ["directory_not_empty", "a process keeps filling the directory while it is removed: end the process first"],
  moved: ["transfer_failed", "a process moved a directory while it was removed"],
  present: ["precondition_failed", "something is at this path already"],
  changed: ["precondition_failed", "the file is not there, or is no longer the one that If-Match names"],
};

const EXHAUSTED = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/** The refusal for what a worker answered behind `error`. */
export function refusalOf(answer: string): ProblemError {
  if (answer.startsWith("workspace ")) {
    return new ProblemError(
      "workspace_unusable",
      "the session's workspace cannot be entered: it is gone, or a link is",
    );
  }
  if (answer.startsWith("kind ")) {
    return new ProblemError("file_type_mismatch", `at this path there is no file but: ${answer.slice("kind ".length)}`);
  }
  const [name = "", path] = answer.split(" ");
  if (EXHAUSTED.has(name)) {
    return new ProblemError("resources_exhausted", `the system has no room for it: ${name}`);
  }
  const [code, reason] = REFUSALS[name] ?? failed(`it answered ${name}`);
  const message = path === undefined ? reason : `${reason}: ${showName(Buffer.from(path, "hex"))}`;
  return new ProblemError(code, message);
}

function failed(reason: string): readonly [ProblemCode, string] {
  return ["transfer_failed", `the process that works on the files could not finish: ${reason}`];
}

/** Makes a refusal of a worker that could not be started, was killed or made no progress; others pass as they are. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof ResourcesExhaustedError) {
    return new ProblemError("resources_exhausted", error.message);
  }
  if (!(error instanceof WorkerError)) return error;
  const [code, message] = failed(error.message);
  return new ProblemError(code, message);
}
