import { z } from "zod";
import { integer, list, path, program, secretText, url } from "./types.ts";

/** Variables of the knowledge base. */
export const KNOWLEDGE_SETTINGS = {
  SERVICE_KB_MAX_FILE_BYTES: integer(104_857_600, 1_024).meta({ description: "An uploaded document" }),
  SERVICE_KB_TYPES: list.default([]).meta({ description: "Extensions that are taken, such as `pdf,md`; default all" }),
  SERVICE_KB_UPLOADS_AT_ONCE: integer(8, 1, 1_000).meta({ description: "Uploads of one process" }),
  SERVICE_KB_UPLOADS_PER_USER: integer(4, 1, 1_000).meta({ description: "Of these, a user's" }),
  SERVICE_KB_SEARCHES_PER_USER: integer(8, 1, 1_000).meta({
    description: "Searches in files of a user in one process, one after the other",
  }),
  SERVICE_KB_PARSERS: integer(2, 1, 64).meta({ description: "Parser processes of one process" }),
  SERVICE_KB_PARSE_MS: integer(120_000, 1_000).meta({ description: "Longest parse of a document" }),
  SERVICE_KB_PARSE_MEMORY_MB: integer(1_024, 128).meta({ description: "Memory of a parser process" }),
  SERVICE_KB_PARSE_OUTPUT_BYTES: integer(67_108_864, 1_024).meta({ description: "Markdown of a document" }),
  SERVICE_KB_PARSE_PAGES: integer(5_000, 1).meta({ description: "Pages of a document" }),
  SERVICE_KB_LEASE_MS: integer(60_000, 10_000).meta({ description: "Silence after which a claimed file is given up" }),
  SERVICE_KB_OCR: program.meta({ description: "tesseract: `off`, `auto` (looked for in PATH) or a path" }),
  SERVICE_KB_OCR_LANGUAGES: z
    .string()
    .default("eng+chi_sim")
    .transform((text) => text.split(/[+ ,]+/).filter(Boolean))
    .meta({ description: "Languages of tesseract, joined by +; those that are installed are used" }),
  SERVICE_KB_CONVERTER: program.meta({ description: "soffice, for doc ppt rtf odt odp: `off`, `auto` or a path" }),
  SERVICE_KB_EMBEDDING_URL: url.optional().meta({ description: "Embedding service; ends in /v1" }),
  SERVICE_KB_EMBEDDING_KEY: secretText.meta({ description: "Its key" }),
  SERVICE_KB_EMBEDDING_KEY_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_KB_EMBEDDING_MODELS: list
    .default([])
    .meta({ description: "Models that may be named; the first is `default`" }),
  SERVICE_KB_EMBEDDING_BATCH: integer(64, 1, 2_048).meta({ description: "Texts of one call" }),
  SERVICE_KB_RERANK_URL: url.optional().meta({ description: "Reranking service; ends in /v1" }),
  SERVICE_KB_RERANK_KEY: secretText.meta({ description: "Its key" }),
  SERVICE_KB_RERANK_KEY_FILE: path.meta({ description: "File that holds it instead" }),
  SERVICE_KB_RERANK_MODEL: z.string().min(1).optional().meta({ description: "Its model" }),
  SERVICE_KB_URL_ALLOW: list.default([]).meta({
    description:
      "Hosts that pages are fetched from: `example.org`, `.example.org` its sub-domains, `*` any; default none",
  }),
  SERVICE_KB_URL_PORTS: list
    .default(["80", "443"])
    .transform((ports) => ports.map(Number))
    .pipe(z.array(z.int().min(1).max(65_535)))
    .meta({ description: "Ports that pages are fetched from" }),
  SERVICE_KB_URL_MAX_BYTES: integer(10_000_000, 1_024, 100_000_000).meta({
    description: "A fetched page, after decoding",
  }),
  SERVICE_KB_URL_MS: integer(30_000, 100, 600_000).meta({ description: "Longest fetch, redirects included" }),
  SERVICE_KB_CREDENTIALS_FILE: path.meta({
    description: 'What connectors are reached with, mode 0600: `{"<name>": {"type", "base_url", "api_key"}}`',
  }),
  SERVICE_KB_MAX_IDS: integer(1_000, 1, 1_000).meta({ description: "File ids of one call" }),
  SERVICE_KB_MAX_CHUNKS: integer(20_000, 1).meta({ description: "Chunks of one file" }),
};
