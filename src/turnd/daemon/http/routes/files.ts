import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import {
  FileChangeHeaders,
  FilePath,
  FileReadHeaders,
  FileRemovalQuery,
  FilesQuery,
  FileWriteQuery,
} from "../../../protocol/file-requests.ts";
import { FileEntry, FileList, ProblemError } from "../../../protocol/index.ts";
import { SessionPath } from "../../../protocol/requests.ts";
import { readPath } from "../../files/file-path.ts";
import type { FileService, Workspace } from "../../files/file-service.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import { readCondition } from "../file-conditions.ts";
import { readFilePath } from "../raw-file-path.ts";
import { refusals } from "../refusals.ts";
import { sendFound } from "./send-file.ts";

export interface FileRoutesOptions {
  readonly files: FileService;
  readonly service: Pick<TurnService, "getSession">;
  readonly maxFileBytes: number;
}

const tags = ["files"];
const ALWAYS = ["session_not_found", "invalid_path", "file_not_found", "file_forbidden", "workspace_unusable"] as const;
const BUSY = ["too_many_transfers", "transfer_failed", "resources_exhausted"] as const;
const bytes = z.string().meta({ format: "binary" });

const found = {
  200: {
    description: "The bytes of the file, a page of the directory, or the zip.",
    content: {
      "application/octet-stream": { schema: bytes },
      "application/json": { schema: FileList },
      "application/zip": { schema: bytes },
    },
  },
  206: { description: "The part that `Range` names.", content: { "application/octet-stream": { schema: bytes } } },
  304: z.undefined().describe("The file still has the ETag that `If-None-Match` names."),
  ...refusals(
    ...ALWAYS,
    ...BUSY,
    "file_type_mismatch",
    "precondition_failed",
    "range_not_satisfiable",
    "archive_too_large",
  ),
};

const NOTE =
  "The workspace is the `workspace` of `GET /v1/sessions/{session_id}`. Everything is done with the rights of the CLIs' user, and no link is followed. It works while a turn runs: what a " +
  "turn writes at that moment is read as it is. The path is read as it was sent; of a name that is not UTF-8 each byte " +
  "is percent-encoded.";

/** `/v1/sessions/{session_id}/files`. */
export const fileRoutes: FastifyPluginAsyncZod<FileRoutesOptions> = async (app, { files, service, maxFileBytes }) => {
  // A body is bytes, whatever its type says, and is read as the disk takes it.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

  const workspaceOf = (sessionId: string, { raw }: FastifyReply): Workspace => {
    const { workspace } = service.getSession(sessionId);
    const left = new AbortController();
    raw.once("close", () => left.abort());
    if (raw.destroyed) left.abort();
    return { sessionId, workspace, left: left.signal };
  };

  const root = {
    tags,
    operationId: "listFiles",
    summary: "List a session's workspace",
    description: `A page of the workspace's own directory, or with \`archive=zip\` all of it. ${NOTE}`,
    params: SessionPath,
    querystring: FilesQuery,
    response: found,
  } as const;
  for (const url of ["/v1/sessions/:session_id/files", "/v1/sessions/:session_id/files/"]) {
    const schema = url.endsWith("/") ? { ...root, hide: true } : root;
    app.get(url, { schema, exposeHeadRoute: false }, async ({ params, query, raw }, reply) => {
      const open = await files.find(workspaceOf(params.session_id, reply), readPath(""));
      return sendFound(reply, open, { headers: raw.headers, query, method: "GET" });
    });
  }

  const read = {
    tags,
    operationId: "readFile",
    summary: "Read a file, or list a directory",
    description:
      "A file is sent as bytes, with an ETag; `Range` takes a part of it. A directory is answered as a page of its " +
      `entries (\`application/json\`), or as a zip. ${NOTE}`,
    params: FilePath,
    headers: FileReadHeaders,
    querystring: FilesQuery,
    response: found,
  } as const;
  const look = {
    ...read,
    operationId: "lookAtFile",
    summary: "Look at a file",
    description: `The headers of a \`GET\`: length, ETag, type and time of its last change. ${NOTE}`,
  } as const;
  for (const [method, schema] of [
    ["GET", read],
    ["HEAD", look],
  ] as const) {
    app.route({
      // A list: @fastify/swagger leaves a route of the one method `HEAD` out.
      method: [method],
      url: "/v1/sessions/:session_id/files/:path",
      schema,
      exposeHeadRoute: false,
      async handler({ params, query, raw, originalUrl }, reply) {
        const open = await files.find(workspaceOf(params.session_id, reply), readPath(readFilePath(originalUrl)));
        return sendFound(reply, open, { headers: raw.headers, query, method });
      },
    });
  }

  const write = {
    tags,
    operationId: "writeFile",
    summary: "Write a file, or make a directory",
    description:
      "Replaces the file as a whole, or makes it, with its parents. Until all of the body has arrived and is on the " +
      "disk, what is at the path stays; where it does not arrive, nothing is left. A path with `/` at its end makes a " +
      `directory. \`If-None-Match: *\` replaces nothing; \`If-Match\` replaces only that version. ${NOTE}`,
    params: FilePath,
    headers: FileChangeHeaders,
    querystring: FileWriteQuery,
    consumes: ["application/octet-stream"],
    body: z.unknown().meta({ type: "string", format: "binary", description: "The bytes of the file." }),
    response: {
      200: FileEntry.describe("It was there and has been replaced, or the directory was there."),
      201: FileEntry.describe("It has been made."),
      ...refusals(
        ...ALWAYS,
        ...BUSY,
        ...(["file_type_mismatch", "precondition_failed", "body_too_large", "unsupported_media_type"] as const),
        "storage_full",
      ),
    },
  } as const;
  const isUpload = { config: { isUpload: true } };
  app.put("/v1/sessions/:session_id/files/:path", { schema: write, ...isUpload }, async (request, reply) => {
    const { params, headers, query, raw, originalUrl } = request;
    const where = workspaceOf(params.session_id, reply);
    const path = readPath(readFilePath(originalUrl));
    refuseEncoded(raw.headers);
    const condition = readCondition(headers);
    const isEmpty = raw.headers["transfer-encoding"] === undefined && Number(raw.headers["content-length"] ?? 0) === 0;
    if (path.namesDirectory && !isEmpty) throw new ProblemError("invalid_path", "a directory has no bytes of its own");
    if (Number(raw.headers["content-length"] ?? 0) > maxFileBytes) {
      const message = `the file is larger than TURND_MAX_FILE_BYTES allows, ${maxFileBytes} bytes`;
      throw new ProblemError("body_too_large", message);
    }
    const { isNew, entry } = path.namesDirectory
      ? await files.make(where, path)
      : await files.write(where, path, raw, { ...condition, isExecutable: query.executable === true });
    if (entry.etag !== undefined) void reply.header("etag", entry.etag);
    return reply.code(isNew ? 201 : 200).send(entry);
  });

  const remove = {
    tags,
    operationId: "removeFile",
    summary: "Remove a file, link or directory",
    description:
      "A link is removed, and not what it leads to. `If-Match` removes only that version of a file. With " +
      "`recursive=true` it is answered when all is gone, however long that takes; where something cannot be removed, " +
      "everything else is, and the answer names the first. It ends when its client leaves.",
    params: FilePath,
    headers: FileChangeHeaders,
    querystring: FileRemovalQuery,
    response: {
      204: z.undefined().describe("It is gone."),
      ...refusals(...ALWAYS, ...BUSY, "directory_not_empty", "precondition_failed", "storage_full"),
    },
  } as const;
  app.delete(
    "/v1/sessions/:session_id/files/:path",
    { schema: remove },
    async ({ params, headers, query, originalUrl }, reply) => {
      const where = workspaceOf(params.session_id, reply);
      const path = readPath(readFilePath(originalUrl));
      await files.remove(where, path, { ...readCondition(headers), isRecursive: query.recursive === true });
      return reply.code(204).send();
    },
  );
};

function refuseEncoded(headers: Readonly<Record<string, unknown>>): void {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new ProblemError(
      "unsupported_media_type",
      "send the file without Content-Encoding: it is stored as it comes",
    );
  }
  if (headers["content-range"] !== undefined) {
    throw new ProblemError("invalid_request", "header.content-range: a file is written as a whole", {
      fields: [{ path: "header.content-range", message: "a file is written as a whole" }],
    });
  }
}
