import { mkdir, mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { readCredentials, type Credentials } from "../knowledge/connectors/credentials.ts";
import { createEmbedder } from "../knowledge/models/embed.ts";
import { createKnowledge, type Knowledge, type KnowledgeOptions } from "../knowledge/knowledge.ts";
import { createParser } from "../knowledge/parse/create-parser.ts";
import { createReranker } from "../knowledge/models/rerank.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { readFile, SettingsError } from "../settings/file.ts";
import type { Settings } from "../settings/settings.ts";
import { closeToOthers, makePassable } from "../storage/data-directory.ts";
import { openObjectBucket } from "../storage/object-bucket.ts";
import { openObjectDirectory } from "../storage/object-directory.ts";
import type { Objects } from "../storage/objects.ts";
import type { Storage } from "../storage/storage.ts";

export interface KnowledgeWiring {
  readonly settings: Settings;
  readonly storage: Storage;
  readonly logger: Logger;
  readonly outbound: Outbound;
  readonly onStep?: KnowledgeOptions["onStep"];
}

const PARSING = "parsing-";
const DAY_MS = 86_400_000;
const CONNECTOR_MS = 10_000;

/** Makes the knowledge base by the settings `SERVICE_KB_*`. */
export async function wireKnowledge({
  settings,
  storage,
  logger,
  outbound,
  onStep,
}: KnowledgeWiring): Promise<Knowledge> {
  const { values, dataDirectory } = settings;
  // With PGlite the lock of the data directory ensures that there is no other process.
  const directory = await makeParsingDirectory(dataDirectory, storage.engine === "pglite");
  const parser = await createParser({
    directory,
    children: values.SERVICE_KB_PARSERS,
    timeoutMs: values.SERVICE_KB_PARSE_MS,
    memoryMegabytes: values.SERVICE_KB_PARSE_MEMORY_MB,
    outputBytes: values.SERVICE_KB_PARSE_OUTPUT_BYTES,
    maxPages: values.SERVICE_KB_PARSE_PAGES,
    ocr: values.SERVICE_KB_OCR,
    ocrLanguages: values.SERVICE_KB_OCR_LANGUAGES,
    converter: values.SERVICE_KB_CONVERTER,
  });
  const knowledge = await createKnowledge({
    storage,
    logger,
    parser,
    onStep,
    objects: await openObjects(settings),
    embedder: makeEmbedder(settings),
    reranker: makeReranker(settings),
    outbound,
    fetchRules: {
      allow: values.SERVICE_KB_URL_ALLOW,
      ports: values.SERVICE_KB_URL_PORTS,
      maxBytes: values.SERVICE_KB_URL_MAX_BYTES,
      timeoutMs: values.SERVICE_KB_URL_MS,
    },
    credentials: openCredentials(settings),
    connectorMs: CONNECTOR_MS,
    limits: {
      maxFileBytes: values.SERVICE_KB_MAX_FILE_BYTES,
      types: values.SERVICE_KB_TYPES.map((type) => type.toLowerCase().replace(/^\./, "")),
      filesAtOnce: values.SERVICE_KB_PARSERS,
      outputBytes: values.SERVICE_KB_PARSE_OUTPUT_BYTES,
      leaseMs: values.SERVICE_KB_LEASE_MS,
      maxIds: values.SERVICE_KB_MAX_IDS,
      maxChunks: values.SERVICE_KB_MAX_CHUNKS,
      uploadsAtOnce: values.SERVICE_KB_UPLOADS_AT_ONCE,
      uploadsOfUser: values.SERVICE_KB_UPLOADS_PER_USER,
      searchesOfUser: values.SERVICE_KB_SEARCHES_PER_USER,
    },
  });
  return {
    ...knowledge,
    async sweep() {
      const now = new Date();
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await utimes(directory, now, now);
      await knowledge.sweep();
    },
    async close() {
      await knowledge.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A directory of this process's own for documents that are being parsed; those of processes that were killed are deleted. */
async function makeParsingDirectory(dataDirectory: string, isAlone: boolean): Promise<string> {
  await makePassable(dataDirectory);
  for (const name of await readdir(dataDirectory)) {
    const path = join(dataDirectory, name);
    if (!name.startsWith(PARSING) || !(isAlone || (await isLeft(path)))) continue;
    await rm(path, { recursive: true, force: true });
  }
  return mkdtemp(join(dataDirectory, PARSING));
}

/** Whether no process keeps a directory: beside PostgreSQL several may share its parent, and each touches its own with every sweep. */
async function isLeft(path: string): Promise<boolean> {
  // Gone: another process has deleted it.
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && found.mtimeMs < Date.now() - DAY_MS;
}

/** Where bytes too large for rows are kept. @throws {SettingsError} */
export async function openObjects({ values, dataDirectory }: Settings): Promise<Objects> {
  const place = values.SERVICE_OBJECTS ?? `file:${join(dataDirectory, "objects")}`;
  if (place.startsWith("file:")) {
    const directory = place.slice("file:".length);
    // What is in it was made closed; there may be millions.
    await closeToOthers(directory, { isDeep: false });
    return openObjectDirectory(directory);
  }
  const [bucket = "", ...prefix] = place.slice("s3://".length).split("/");
  const { SERVICE_S3_ENDPOINT: endpoint, SERVICE_S3_REGION: region } = values;
  const accessKeyId = readKey(values.SERVICE_S3_ACCESS_KEY_FILE, "SERVICE_S3_ACCESS_KEY_FILE");
  const secretAccessKey = readKey(values.SERVICE_S3_SECRET_KEY_FILE, "SERVICE_S3_SECRET_KEY_FILE");
  return openObjectBucket({
    bucket,
    region,
    prefix: prefix.join("/"),
    endpoint: endpoint?.href ?? `https://s3.${region}.amazonaws.com`,
    accessKeyId,
    secretAccessKey,
  });
}

function readKey(file: string | undefined, variable: string): string {
  const key = readFile(variable, file);
  if (key === undefined) throw new SettingsError([`SERVICE_OBJECTS is a bucket: ${variable} is needed`]);
  return key;
}

/** @throws {SettingsError} */
function openCredentials({ values }: Settings): Credentials {
  const { SERVICE_KB_CREDENTIALS_FILE: file } = values;
  if (file === undefined) return new Map();
  try {
    return readCredentials(file);
  } catch (error) {
    throw new SettingsError([
      `SERVICE_KB_CREDENTIALS_FILE is ${file}: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
}

function makeEmbedder({ values, embeddingKey }: Settings) {
  const { SERVICE_KB_EMBEDDING_URL: url, SERVICE_KB_EMBEDDING_MODELS: models } = values;
  if (url === undefined) return undefined;
  if (models.length === 0)
    throw new SettingsError(["SERVICE_KB_EMBEDDING_URL is set: SERVICE_KB_EMBEDDING_MODELS has to name a model"]);
  return createEmbedder({ baseUrl: url.href, key: embeddingKey, models, batch: values.SERVICE_KB_EMBEDDING_BATCH });
}

function makeReranker({ values, rerankKey }: Settings) {
  const { SERVICE_KB_RERANK_URL: url, SERVICE_KB_RERANK_MODEL: model } = values;
  if (url === undefined) return undefined;
  if (model === undefined) throw new SettingsError(["SERVICE_KB_RERANK_URL is set: SERVICE_KB_RERANK_MODEL is needed"]);
  return createReranker({ baseUrl: url.href, key: rerankKey, model });
}
