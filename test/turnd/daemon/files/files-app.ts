import { join } from "node:path";
import { afterAll } from "vitest";
import type { FileServiceOptions } from "../../../../src/turnd/daemon/files/create-file-service.ts";
import { Problem } from "../../../../src/turnd/protocol/index.ts";
import { createTestApp, listen } from "../http/test-app.ts";
import { createTestFiles } from "../../../harness/file-service.ts";
import { temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";

/** An app with the real service of files, and a session whose workspace is a directory of the test's own. */
export interface FilesApp {
  readonly url: string;
  readonly port: number;
  readonly workspace: string;
  /** Asks below `/v1/sessions/{id}/files`; the path is sent as it is given, and starts with `/`. */
  ask(path: string, options?: RequestInit & { readonly duplex?: "half" }): Promise<Response>;
  put(path: string, body?: string, headers?: Record<string, string>): Promise<Response>;
}

/** The session that every app has. */
export const SESSION = "session-of-files";
/** Where its files are asked for. */
export const FILES = `/v1/sessions/${SESSION}/files`;

/** Listens until all tests of the file are done. */
export async function createFilesApp(
  options: Partial<FileServiceOptions> & { readonly workspace?: string } = {},
): Promise<FilesApp> {
  const { workspace = userDirectory(join(temporaryDirectory(afterAll), "workspace")), ...given } = options;
  const { app, service } = await createTestApp({
    files: createTestFiles(given),
    ...(given.maxFileBytes === undefined ? {} : { maxFileBytes: given.maxFileBytes }),
  });
  await service.createSession({ executor: "cli-b", session_id: SESSION, permissions: {}, workspace });
  const { port, url } = await listen(app);
  afterAll(() => app.close());
  const ask: FilesApp["ask"] = (path, init) => fetch(`${url}${FILES}${path}`, init);
  return {
    url,
    port,
    workspace,
    ask,
    put: (path, body = "", headers = {}) => ask(path, { method: "PUT", body, headers }),
  };
}

/** The code of a refusal. */
export async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${Problem.parse(await response.json()).detail.code}`;
}
