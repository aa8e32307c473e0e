import { pino, type Logger } from "pino";
import { createFileService, type FileServiceOptions } from "../../src/turnd/daemon/files/create-file-service.ts";
import type { FileService } from "../../src/turnd/daemon/files/file-service.ts";
import { CLI_USER } from "./temporary.ts";

/** The real service of files, with its real workers. */
export function createTestFiles(options: Partial<FileServiceOptions> = {}): FileService {
  const logger: Logger = pino({ level: "silent" });
  return createFileService({
    runAs: CLI_USER,
    maxFileBytes: 4 * 1024 ** 3,
    maxTransfers: 16,
    stallMs: 60_000,
    maxArchiveEntries: 1_000,
    logger,
    ...options,
  });
}
