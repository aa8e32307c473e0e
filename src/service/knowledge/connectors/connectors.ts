import type { Logger } from "pino";
import type { z } from "zod";
import type { KbType } from "../../protocol/knowledge-bases.ts";
import type { RetrieveBody, Retrieved } from "../../protocol/knowledge-queries.ts";
import { ApiProblem, InputProblem } from "../../protocol/problems.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { BaseRow } from "../state/access.ts";
import { readQueryParams } from "../state/base-view.ts";
import type { Connector, ConnectorHit } from "./connector.ts";
import type { Credentials } from "./credentials.ts";
import { createDify, DifyPlace } from "./dify.ts";
import { createNotion, NotionPlace } from "./notion.ts";
import { createRemote, type Remote } from "./remote.ts";

export interface ConnectorsOptions {
  readonly credentials: Credentials;
  readonly outbound: Outbound;
  readonly logger: Logger;
  /** For all that a question takes. */
  readonly answerMs: number;
}

/** Knowledge bases whose content is elsewhere. */
export interface Connectors {
  /** Checks a knowledge base's description of where its content is. @throws {ApiProblem} connector_invalid */
  check(kind: RemoteKind, connector: Readonly<Record<string, unknown>>): void;
  /** @throws {ApiProblem} connector_*, embedding_not_configured */
  retrieve(base: BaseRow, body: RetrieveBody): Promise<Retrieved>;
}

type RemoteKind = Exclude<KbType, "local">;

const PLACES = { dify: DifyPlace, notion: NotionPlace } as const satisfies Record<RemoteKind, unknown>;

export function createConnectors({ credentials, outbound, logger, answerMs }: ConnectorsOptions): Connectors {
  const remotes = new Map<string, Remote>();

  function open(kind: RemoteKind, connector: Readonly<Record<string, unknown>>): Connector {
    switch (kind) {
      case "dify": {
        const place = read(PLACES.dify, connector);
        return createDify(remoteOf(kind, place.credential), place);
      }
      case "notion": {
        const place = read(PLACES.notion, connector);
        return createNotion(remoteOf(kind, place.credential), place);
      }
    }
  }

  /** One for each credential, whose limit all knowledge bases share. @throws {ApiProblem} connector_invalid */
  function remoteOf(kind: RemoteKind, name: string): Remote {
    const credential = credentials.get(name);
    if (credential?.type !== kind)
      throw refusePlace(["credential"], `there is no credential ${JSON.stringify(name)} for ${kind}`);
    let remote = remotes.get(name);
    if (remote === undefined) {
      remote = createRemote({ name, credential, outbound, logger, answerMs });
      remotes.set(name, remote);
    }
    return remote;
  }

  /** What was right when the knowledge base was made need not be so after a restart. */
  function openStored(kind: RemoteKind, connector: Readonly<Record<string, unknown>>): Connector {
    try {
      return open(kind, connector);
    } catch (error) {
      if (!(error instanceof InputProblem)) throw error;
      throw new ApiProblem("connector_failed", `the connector is not configured any more: ${error.message}`);
    }
  }

  return {
    check: (kind, connector) => void open(kind, connector),

    async retrieve(base, body) {
      if (base.kb_type === "local") throw new Error("a knowledge base of files has no connector");
      const startedAt = performance.now();
      const options = { ...readQueryParams(base), ...defined(body.options) };
      const topK = options.final_top_k ?? 10;
      const answer = await openStored(base.kb_type, base.connector).retrieve(
        {
          query: body.query,
          mode: options.search_mode ?? "auto",
          topK,
          threshold: options.similarity_threshold ?? 0,
        },
        AbortSignal.timeout(answerMs),
      );
      return {
        kb_id: base.id,
        query: body.query,
        search_mode: answer.mode,
        index: { ...answer.index, embedding_model: null, reranker: null },
        results: answer.hits.filter((hit) => isWanted(hit, body)).map((hit) => show(base, hit)),
        warnings: [...answer.warnings, ...(options.use_reranker === true ? ["rerank_failed"] : [])],
        took_ms: Math.round(performance.now() - startedAt),
      };
    },
  };
}

function read<Shape extends z.ZodType>(shape: Shape, connector: Readonly<Record<string, unknown>>): z.output<Shape> {
  const parsed = shape.safeParse(connector);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw refusePlace(issue?.path.map(String) ?? [], issue?.message ?? "not a place of this kind");
}

function refusePlace(path: readonly string[], message: string): InputProblem {
  const loc = ["connector", ...path];
  return new InputProblem("connector_invalid", ["body", ...loc], `${loc.join(".")}: ${message}`);
}

function defined<Value extends object>(options: Value): Partial<Value> {
  const given: Partial<Value> = {};
  for (const key in options) if (options[key] !== undefined) given[key] = options[key];
  return given;
}

/** What the caller narrows to is narrowed here: the other systems have no such filter. */
function isWanted(hit: ConnectorHit, { file_ids: ids, file_name: name }: RetrieveBody): boolean {
  const isOfFile = ids === undefined || ids.includes(hit.fileId);
  return isOfFile && (name === undefined || hit.source.toLowerCase().includes(name.toLowerCase()));
}

function show(base: BaseRow, hit: ConnectorHit): Retrieved["results"][number] {
  return {
    id: hit.id,
    kb_id: base.id,
    file_id: hit.fileId,
    content: hit.content,
    score: hit.score,
    metadata: {
      source: hit.source,
      source_path: null,
      source_url: hit.sourceUrl,
      file_type: base.kb_type,
      chunk_index: hit.chunkIndex,
      heading: hit.heading,
      start_line: null,
      end_line: null,
      page: null,
      scores: hit.scores,
    },
  };
}
