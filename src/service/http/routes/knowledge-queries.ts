import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { KbPath } from "../../protocol/knowledge-bases.ts";
import { FilePath } from "../../protocol/knowledge-files.ts";
import {
  ExternalFiles,
  ExternalFilesQuery,
  ExternalList,
  ExternalListQuery,
  FindBody,
  Found,
  Opened,
  OpenQuery,
  RetrieveBody,
  Retrieved,
} from "../../protocol/knowledge-queries.ts";
import type { Knowledge } from "../../knowledge/knowledge.ts";
import { callerOf } from "../callers.ts";
import { baseGate, baseOf } from "../knowledge-gate.ts";
import { refusals } from "../refusals.ts";
import { whileWanted } from "../abort-on-disconnect.ts";

const tags = ["knowledge-queries"];
const PATH = "/api/knowledge/databases/external";

/** Queries over knowledge bases, for every user who may read them. */
export const knowledgeQueryRoutes: FastifyPluginAsyncZod<{ knowledge: Knowledge; closing: AbortSignal }> = async (
  app,
  { knowledge, closing },
) => {
  const list = {
    tags,
    operationId: "listReadableKnowledgeBases",
    summary: "List the knowledge bases you may read",
    description: "For every user.",
    querystring: ExternalListQuery,
    response: { 200: ExternalList, ...refusals() },
  };
  app.get(PATH, { schema: list }, async (request) => knowledge.listReadable(callerOf(request), request.query));

  const of = { tags, params: KbPath };
  const files = {
    ...of,
    operationId: "listReadableFiles",
    summary: "List files, or search their names",
    description: "`query` looks at file names only, not at their text.",
    querystring: ExternalFilesQuery,
    response: { 200: ExternalFiles, ...refusals("kb_not_found", "retrieval_only") },
  };
  app.get(`${PATH}/:kb_id/files`, { schema: files, onRequest: baseGate(knowledge, "read", "files") }, async (request) =>
    knowledge.listFiles(baseOf(request), request.query),
  );

  const retrieve = {
    ...of,
    operationId: "retrieve",
    summary: "Retrieve passages",
    description: "`index` names what was searched. Each result opens at its `start_line` and `end_line`.",
    body: RetrieveBody,
    response: {
      200: Retrieved,
      ...refusals(
        "kb_not_found",
        "embedding_not_configured",
        "embedding_failed",
        "connector_failed",
        "connector_auth_failed",
        "connector_not_found",
        "connector_bad_answer",
        "connector_rate_limited",
        "connector_timeout",
      ),
    },
  };
  app.post(`${PATH}/:kb_id/retrieve`, { schema: retrieve, onRequest: baseGate(knowledge, "read") }, async (request) =>
    knowledge.retrieve(baseOf(request), request.body),
  );

  const one = { tags, params: FilePath };
  const open = {
    ...one,
    operationId: "openFile",
    summary: "Open the Markdown of a file by lines",
    description: "At most 1 800 lines a call; `next_offset` goes on.",
    querystring: OpenQuery,
    response: { 200: Opened, ...refusals("kb_not_found", "retrieval_only", "file_not_found", "file_not_parsed") },
  };
  app.get(
    `${PATH}/:kb_id/files/:file_id/open`,
    { schema: open, onRequest: baseGate(knowledge, "read", "open") },
    async (request) => knowledge.openFile(baseOf(request), request.params.file_id, request.query),
  );

  const find = {
    ...one,
    operationId: "findInFile",
    summary: "Find words or a regular expression in a file",
    description: "Matching lines in windows; `next_after_line` goes on. At most 2 s of search.",
    body: FindBody,
    response: {
      200: Found,
      ...refusals(
        "kb_not_found",
        "retrieval_only",
        "file_not_found",
        "file_not_parsed",
        "pattern_invalid",
        "pattern_too_expensive",
        "too_many_searches",
      ),
    },
  };
  app.post(
    `${PATH}/:kb_id/files/:file_id/find`,
    { schema: find, onRequest: baseGate(knowledge, "read", "find") },
    async (request, reply) =>
      knowledge.find(baseOf(request), request.params.file_id, request.body, {
        userId: callerOf(request).userId,
        signal: whileWanted(reply, closing),
      }),
  );
};
