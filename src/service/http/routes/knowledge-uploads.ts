import type { Readable } from "node:stream";
import multipart from "@fastify/multipart";
import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { FetchUrlBody, SupportedTypes, Uploaded, UploadQuery, UrlFetched } from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Knowledge } from "../../knowledge/knowledge.ts";
import type { UploadPart } from "../../knowledge/uploads/uploads.ts";
import { callerOf } from "../callers.ts";
import { baseGate, baseOf } from "../knowledge-gate.ts";
import { refusals } from "../refusals.ts";
import { whileWanted } from "../abort-on-disconnect.ts";

const tags = ["knowledge-files"];

/** Originals, streamed. */
export const knowledgeUploadRoutes: FastifyPluginAsyncZod<{ knowledge: Knowledge; closing: AbortSignal }> = async (
  app,
  { knowledge, closing },
) => {
  // The size of the file is bounded where it is stored.
  await app.register(multipart, {
    throwFileSizeLimit: false,
    limits: { fileSize: Number.MAX_SAFE_INTEGER, files: 2, fields: 10, fieldSize: 1_000, parts: 12, headerPairs: 100 },
  });

  const upload = {
    tags,
    operationId: "uploadKnowledgeFile",
    summary: "Upload one original: multipart/form-data with the part `file`",
    description:
      "Stores the bytes only. The address in `file_path` is good for 7 days, or as long as a file record names it.",
    consumes: ["multipart/form-data"],
    querystring: UploadQuery,
    response: {
      200: Uploaded,
      ...refusals(
        "kb_not_found",
        "manage_required",
        "role_required",
        "retrieval_only",
        "unsupported_file_type",
        "empty_file",
        "file_required",
        "filename_invalid",
        "unsupported_media_type",
        "duplicate_content",
        "file_too_large",
        "too_many_uploads",
      ),
    },
  };
  app.post(
    "/api/knowledge/files/upload",
    { schema: upload, onRequest: baseGate(knowledge, "upload", "upload") },
    async (request, reply) => {
      if (!request.isMultipart())
        throw new ApiProblem("unsupported_media_type", "send the file as `Content-Type: multipart/form-data`");
      const end = knowledge.uploads.begin(callerOf(request).userId);
      const source: Source = { files: [] };
      try {
        const allowsDuplicate = request.query.allow_duplicate === "true";
        return await knowledge.uploads.receive(
          baseOf(request),
          callerOf(request),
          partsOf(request, source),
          allowsDuplicate,
        );
      } catch (error) {
        // The rest of a body that was refused is not read.
        void reply.header("connection", "close");
        throw describeFault(error, source);
      } finally {
        end();
      }
    },
  );

  const fetchUrl = {
    tags,
    operationId: "fetchKnowledgeUrl",
    summary: "Fetch a page from the web, as an upload",
    description:
      "Hosts that `SERVICE_KB_URL_ALLOW` names, at public addresses, checked anew for every redirect. The page is an upload.",
    body: FetchUrlBody,
    response: {
      200: UrlFetched,
      ...refusals(
        "kb_not_found",
        "manage_required",
        "role_required",
        "url_fetch_disabled",
        "retrieval_only",
        "unsupported_file_type",
        "url_refused",
        "url_fetch_failed",
        "too_many_uploads",
      ),
    },
  };
  app.post(
    "/api/knowledge/files/fetch-url",
    { schema: fetchUrl, preValidation: baseGate(knowledge, "upload", "fetch-url") },
    async (request, reply) => {
      const end = knowledge.uploads.begin(callerOf(request).userId);
      try {
        const signal = whileWanted(reply, closing);
        return await knowledge.fetchUrl(baseOf(request), callerOf(request), request.body.url, signal);
      } finally {
        end();
      }
    },
  );

  const types = {
    tags,
    operationId: "listSupportedTypes",
    summary: "List the types of files that are taken",
    description:
      "`available` is false where a program is missing on the server; such a file ends in an error when it is parsed.",
    response: { 200: SupportedTypes, ...refusals() },
  };
  app.get("/api/knowledge/files/supported-types", { schema: types }, async () => knowledge.supportedTypes());
};

/** What may have broken a body: its own end, or the stream of a file in it. */
interface Source {
  readonly files: Readable[];
  fault?: unknown;
}

/** @param source - gets what may break */
async function* partsOf(request: FastifyRequest, source: Source): AsyncGenerator<UploadPart> {
  try {
    for await (const part of request.parts()) {
      if (part.type === "file") source.files.push(part.file);
      yield part.type === "file"
        ? { type: "file", name: part.fieldname, filename: part.filename, stream: part.file }
        : { type: "field", name: part.fieldname, value: part.value };
    }
  } catch (error) {
    source.fault = error;
    throw error;
  }
}

/** A body that is cut or no multipart after all. Faults of the system and of the parser's limits have a code, and are not meant here. */
function describeFault(error: unknown, { files, fault }: Source): unknown {
  if (!(error instanceof Error) || "code" in error) return error;
  if (error !== fault && files.every(({ errored }) => errored !== error)) return error;
  return new ApiProblem("file_required", `the body is not whole multipart/form-data: ${error.message}`);
}
