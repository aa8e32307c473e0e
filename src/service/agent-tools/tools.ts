import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { ApiProblem } from "../protocol/problems.ts";
import {
  type ExternalFiles,
  FindBody,
  type Found,
  type Opened,
  type Retrieved,
} from "../protocol/knowledge-queries.ts";
import type { BaseRow } from "../knowledge/state/access.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import type { RunAccess } from "./run-access.ts";

const MOST_HITS = 20;
const HITS = 8;
const OPENED = 200;
const MOST_OPENED = 1_800;
const LISTED = 100;

const KbId = z.string().max(64).optional().describe("The knowledge base; needed where there are several.");
const FileId = z.string().min(1).max(64).describe("The file's id, as list and search show it.");
const ReadOnly = { readOnlyHint: true, openWorldHint: false } as const;

interface Answer {
  [key: string]: unknown;
  content: { type: "text"; text: string }[];
  isError?: boolean;
}

/**
 * A server of tools over the knowledge bases of one run's agent.
 *
 * A refusal is the tool's answer to the model; whether the user may read a knowledge base is decided at each call.
 */
export function createToolServer(
  { knowledge, version }: { readonly knowledge: Knowledge; readonly version: string },
  access: RunAccess,
): McpServer {
  const server = new McpServer({ name: "svc-knowledge", version });
  const open = (kbId: string, operation?: string): Promise<BaseRow> => {
    if (!access.knowledgeBases.includes(kbId)) {
      throw new ApiProblem("kb_not_found", `there is no knowledge base ${JSON.stringify(kbId)}`);
    }
    return knowledge.open(access.caller, kbId, { need: "read", operation });
  };

  async function readable(): Promise<BaseRow[]> {
    const found = await Promise.all(access.knowledgeBases.map((id) => open(id).catch(unlessNotFound)));
    return found.filter((base) => base !== undefined);
  }

  async function choose(kbId: string | undefined, operation: string): Promise<BaseRow> {
    if (kbId !== undefined) return open(kbId, operation);
    const bases = await readable();
    const [only] = bases;
    if (only === undefined) throw new ApiProblem("kb_not_found", "there is no knowledge base you may read");
    if (bases.length > 1)
      throw new ApiProblem("kb_not_found", `kb_id is required here: one of ${bases.map(({ id }) => id).join(", ")}`);
    return open(only.id, operation);
  }

  server.registerTool(
    "list",
    {
      description: "Lists the knowledge bases, or, with kb_id, the files of one.",
      annotations: ReadOnly,
      inputSchema: z.object({
        kb_id: KbId,
        name: z.string().max(255).optional().describe("Part of a file's name."),
        offset: z.int().min(0).max(1_000_000_000).default(0),
      }),
    },
    ({ kb_id: kbId, name, offset }) =>
      answer(async () => {
        if (kbId === undefined) {
          const bases = await readable();
          if (bases.length === 0) return "There is no knowledge base you may read.";
          return bases
            .map(({ id, name: title, description }) => `${id}  ${title}  ${description}`.trimEnd())
            .join("\n");
        }
        const base = await open(kbId, "files");
        return showFiles(await knowledge.listFiles(base, { query: name, offset, limit: LISTED }));
      }),
  );

  server.registerTool(
    "search",
    {
      description:
        "Searches passages by words or meaning, best first. Each has its file's id and lines: read on there with open.",
      annotations: ReadOnly,
      inputSchema: z.object({
        query: z.string().trim().min(1).max(4_000),
        kb_id: z.string().max(64).optional().describe("One knowledge base; absent: each of them."),
        top_k: z.int().min(1).max(MOST_HITS).default(HITS).describe("Most passages of a knowledge base."),
      }),
    },
    ({ query, kb_id: kbId, top_k: topK }) =>
      answer(async () => {
        const bases = kbId === undefined ? await readable() : [await open(kbId)];
        if (bases.length === 0) return "There is no knowledge base you may read.";
        const found = [];
        for (const base of bases) {
          const { results } = await knowledge.retrieve(base, { query, options: { final_top_k: topK } });
          found.push(showHits(base, results));
        }
        return found.join("\n\n");
      }),
  );

  server.registerTool(
    "open",
    {
      description: "Opens a file's text by lines, with their numbers.",
      annotations: ReadOnly,
      inputSchema: z.object({
        file_id: FileId,
        kb_id: KbId,
        start_line: z.int().min(1).max(1_000_000_000).default(1),
        lines: z.int().min(1).max(MOST_OPENED).default(OPENED).describe("How many."),
      }),
    },
    ({ file_id: fileId, kb_id: kbId, start_line: startLine, lines }) =>
      answer(async () => {
        const base = await choose(kbId, "open");
        const query = { offset: startLine - 1, limit: lines, numbered: "true" as const };
        return showOpened(await knowledge.openFile(base, fileId, query));
      }),
  );

  server.registerTool(
    "find",
    {
      description: "Finds words, or a regular expression, in one file; answers with the lines around them.",
      annotations: ReadOnly,
      inputSchema: z.object({
        file_id: FileId,
        kb_id: KbId,
        patterns: z.array(z.string().min(1).max(500)).min(1).max(10),
        use_regex: z.boolean().default(false).describe("RE2 syntax, line by line."),
        case_sensitive: z.boolean().default(false),
        after_line: z.int().min(0).default(0),
      }),
    },
    ({ file_id: fileId, kb_id: kbId, ...body }, { mcpReq: { signal } }) =>
      answer(async () => {
        const base = await choose(kbId, "find");
        const asker = { userId: access.caller.userId, signal };
        return showFound(await knowledge.find(base, fileId, FindBody.parse({ ...body, window_size: 20 }), asker));
      }),
  );
  return server;
}

/** A refusal is the model's to read; anything else is ours to fix. */
async function answer(work: () => Promise<string>): Promise<Answer> {
  try {
    return { content: [{ type: "text", text: await work() }] };
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return { isError: true, content: [{ type: "text", text: `${error.code}: ${error.message}` }] };
  }
}

function unlessNotFound(error: unknown): undefined {
  if (error instanceof ApiProblem && error.code === "kb_not_found") return undefined;
  throw error;
}

/** Answers as a model reads them best: short lines of text, with the ids that the next call needs. */
function showFiles({ files, total, offset, has_more: hasMore }: ExternalFiles): string {
  const lines = files.map(({ file_id: id, filename, status }) => `${id}  ${filename}  ${status}`);
  const more = hasMore ? [`… ${total} in all: go on with offset ${offset + files.length}`] : [];
  return lines.length === 0 ? "No such file." : [...lines, ...more].join("\n");
}

function showHits({ id, name }: BaseRow, results: Retrieved["results"]): string {
  if (results.length === 0) return `Nothing was found in ${id} (${name}).`;
  const hits = results.map(({ file_id: fileId, content, metadata }, index) => {
    const { source, heading, start_line: start, end_line: end, page } = metadata;
    const place = [
      `${source} lines ${start}-${end}`,
      ...(page === null ? [] : [`page ${page}`]),
      ...(heading === "" ? [] : [heading]),
    ].join(", ");
    return `[${index + 1}] ${place} (file_id ${fileId}, kb_id ${id})\n${content}`;
  });
  return hits.join("\n\n");
}

function showOpened(opened: Opened): string {
  const { filename, total_lines: total, start_line: start, end_line: end, next_offset: next, content } = opened;
  if (start === 0) return `${filename} has ${total} lines: nothing is there.`;
  const more = next === null ? "" : `\n… go on with start_line ${next + 1}`;
  return `${filename}, lines ${start}-${end} of ${total}\n${content}${more}`;
}

function showFound({ total_matches: total, windows, next_after_line: next }: Found): string {
  if (windows.length === 0) return "No line matches.";
  const shown = windows.map(
    ({ start_line: start, end_line: end, matched_lines: matched, content }) =>
      `lines ${start}-${end}, matched ${matched.join(", ")}\n${content}`,
  );
  const more = next === null ? [] : [`… go on with after_line ${next}`];
  return [`${total} matching lines`, ...shown, ...more].join("\n\n");
}
