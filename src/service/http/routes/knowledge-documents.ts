import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { Success } from "../../protocol/common.ts";
import { KbPath } from "../../protocol/knowledge-bases.ts";
import {
  AddDocumentsBody,
  ChunkList,
  ChunkListQuery,
  DeleteDocumentsBody,
  DocumentsAdded,
  DocumentsDeleted,
  DocumentsImported,
  FileAnswer,
  FileList,
  FileListQuery,
  FilePath,
  ImportDocumentsBody,
  IndexBody,
  IndexPendingBody,
  ParseBody,
  ParsePendingBody,
  PendingQueued,
  Queued,
} from "../../protocol/knowledge-files.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Knowledge } from "../../knowledge/knowledge.ts";
import { callerOf } from "../callers.ts";
import { baseGate, baseOf } from "../knowledge-gate.ts";
import { refusals } from "../refusals.ts";

const tags = ["knowledge-documents"];
const managed = ["kb_not_found", "manage_required", "retrieval_only"] as const;
const PATH = "/api/knowledge/databases/:kb_id/documents";

/** File records of a knowledge base: add, parse, index, read back, delete. */
export const knowledgeDocumentRoutes: FastifyPluginAsyncZod<{ knowledge: Knowledge }> = async (app, { knowledge }) => {
  const { documents, files, work } = knowledge;
  const of = { tags, params: KbPath };
  const gate = (operation: string) => ({ onRequest: baseGate(knowledge, "manage", operation) });

  const add = {
    ...of,
    operationId: "addDocuments",
    summary: "Add records of uploaded files; nothing is parsed",
    description:
      "All or nothing. The same address twice is two records, unless `params.once` is true: then the call may be repeated.",
    body: AddDocumentsBody,
    response: { 200: DocumentsAdded, ...refusals(...managed, "object_unknown", "content_type_unsupported") },
  };
  app.post(`${PATH}/add`, { schema: add, ...gate("add") }, async (request) =>
    documents.add(baseOf(request), callerOf(request), request.body),
  );

  const oneShot = {
    ...of,
    operationId: "importDocuments",
    summary: "Add, parse and, with `auto_index`, index in one task",
    description: "The task's success means that every file was visited; each file's `status` is its own outcome.",
    body: ImportDocumentsBody,
    response: { 200: DocumentsImported, ...refusals(...managed, "object_unknown", "content_type_unsupported") },
  };
  app.post(PATH, { schema: oneShot, ...gate("import") }, async (request) =>
    documents.import(baseOf(request), callerOf(request), request.body),
  );

  const selected = refusals(...managed, "too_many_file_ids", "file_not_found", "file_busy", "file_state_conflict");
  const parse = {
    ...of,
    operationId: "parseDocuments",
    summary: "Parse files",
    description:
      "All of the files or none. Takes files that are `uploaded` or `error_parsing`; with `force` all that no task holds.",
    body: ParseBody,
    response: { 200: Queued, ...selected },
  };
  app.post(`${PATH}/parse`, { schema: parse, ...gate("parse") }, async (request) => {
    const { file_ids, params } = Array.isArray(request.body) ? { file_ids: request.body, params: {} } : request.body;
    return work.parse(baseOf(request), callerOf(request), file_ids, params);
  });

  const index = {
    ...of,
    operationId: "indexDocuments",
    summary: "Index parsed files",
    description: "All of the files or none. What was indexed before is found until the new index is whole.",
    body: IndexBody,
    response: { 200: Queued, ...selected },
  };
  app.post(`${PATH}/index`, { schema: index, ...gate("index") }, async (request) => {
    const { file_ids, params } = Array.isArray(request.body) ? { file_ids: request.body, params: {} } : request.body;
    return work.index(baseOf(request), callerOf(request), file_ids, params);
  });

  const pending = { 200: PendingQueued, ...refusals(...managed) };
  const parsePending = {
    ...of,
    operationId: "parsePendingDocuments",
    summary: "Parse all files that were only added",
    description: "Any number of files. One such task per knowledge base: a second call joins it.",
    body: ParsePendingBody,
    response: pending,
  };
  app.post(`${PATH}/parse-pending`, { schema: parsePending, ...gate("parse") }, async (request) =>
    work.parsePending(baseOf(request), callerOf(request), request.body?.params ?? {}),
  );

  const indexPending = {
    ...of,
    operationId: "indexPendingDocuments",
    summary: "Index all files that are parsed",
    description: "Any number of files. One such task per knowledge base: a second call joins it.",
    body: IndexPendingBody,
    response: pending,
  };
  app.post(`${PATH}/index-pending`, { schema: indexPending, ...gate("index") }, async (request) =>
    work.indexPending(baseOf(request), callerOf(request), request.body?.params ?? {}),
  );

  const list = {
    ...of,
    operationId: "listDocuments",
    summary: "List files, the last changed first",
    description: "With the files of every state counted.",
    querystring: FileListQuery,
    response: { 200: FileList, ...refusals(...managed) },
  };
  app.get(PATH, { schema: list, ...gate("list") }, async (request) => files.list(baseOf(request), request.query));

  const one = { tags, params: FilePath };
  const get = {
    ...one,
    operationId: "getDocument",
    summary: "Read a file's record",
    description: "`status` is the outcome of the file; `error` describes what to do about one that failed.",
    response: { 200: FileAnswer, ...refusals(...managed, "file_not_found") },
  };
  app.get(`${PATH}/:file_id`, { schema: get, ...gate("read") }, async (request) => ({
    file: await files.get(baseOf(request), request.params.file_id),
  }));

  const content = {
    ...one,
    operationId: "getDocumentContent",
    summary: "Read the Markdown of a file",
    description: "Streamed.",
    response: {
      200: { description: "The Markdown.", content: { "text/markdown": { schema: z.unknown() } } },
      ...refusals(...managed, "file_not_found", "file_not_parsed"),
    },
  };
  app.get(`${PATH}/:file_id/content`, { schema: content, ...gate("read") }, async (request, reply) => {
    const markdown = await files.content(baseOf(request), request.params.file_id);
    return reply
      .header("content-type", "text/markdown; charset=utf-8")
      .header("x-content-type-options", "nosniff")
      .send(markdown);
  });

  const download = {
    ...one,
    operationId: "downloadDocument",
    summary: "Download an original",
    description: "As it was uploaded.",
    response: {
      200: { description: "The bytes.", content: { "application/octet-stream": { schema: z.unknown() } } },
      ...refusals(...managed, "file_not_found"),
    },
  };
  app.get(`${PATH}/:file_id/download`, { schema: download, ...gate("read") }, async (request, reply) => {
    const { filename, size, stream } = await files.download(baseOf(request), request.params.file_id);
    return reply
      .header("content-type", "application/octet-stream")
      .header("content-length", size)
      .header("content-disposition", `attachment; filename*=UTF-8''${encodeFilename(filename)}`)
      .header("x-content-type-options", "nosniff")
      .send(stream);
  });

  const chunks = {
    ...one,
    operationId: "listDocumentChunks",
    summary: "List the chunks of a file",
    description: "Those that queries find now, in the order of the text.",
    querystring: ChunkListQuery,
    response: { 200: ChunkList, ...refusals(...managed, "file_not_found", "file_not_parsed") },
  };
  app.get(`${PATH}/:file_id/chunks`, { schema: chunks, ...gate("read") }, async (request) =>
    files.chunks(baseOf(request), request.params.file_id, request.query),
  );

  const remove = {
    ...one,
    operationId: "deleteDocument",
    summary: "Delete a file",
    description: "A task that works on the file goes on without it.",
    response: { 200: Success, ...refusals(...managed, "file_not_found") },
  };
  app.delete(`${PATH}/:file_id`, { schema: remove, ...gate("delete") }, async (request) => {
    const { file_id: fileId } = request.params;
    const deleted = await knowledge.deleteFiles(baseOf(request), callerOf(request), [fileId]);
    if (deleted.length === 0)
      throw new ApiProblem("file_not_found", `there is no file ${JSON.stringify(fileId)} in this knowledge base`);
    return { success: true as const };
  });

  const removeMany = {
    ...of,
    operationId: "deleteDocuments",
    summary: "Delete files",
    description: "Ids that are not there are answered as `missing`.",
    body: DeleteDocumentsBody,
    response: { 200: DocumentsDeleted, ...refusals(...managed, "too_many_file_ids") },
  };
  app.post(`${PATH}/delete`, { schema: removeMany, ...gate("delete") }, async (request) => {
    const ids = [...new Set(request.body.file_ids)];
    if (ids.length > knowledge.maxIds)
      throw new ApiProblem("too_many_file_ids", `at most ${knowledge.maxIds} ids a call`, { limit: knowledge.maxIds });
    const deleted = await knowledge.deleteFiles(baseOf(request), callerOf(request), ids);
    return { deleted, missing: ids.filter((id) => !deleted.includes(id)) };
  });
};

/** RFC 8187: what `encodeURIComponent` leaves and a header may not hold. */
function encodeFilename(filename: string): string {
  return encodeURIComponent(filename).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
