import { z } from "zod";

/** What the child is started with, as its only argument. */
export const ChildSettings = z.object({
  maxPages: z.int().positive(),
  outputBytes: z.int().positive(),
  tesseract: z.string().nullable(),
  soffice: z.string().nullable(),
});
export type ChildSettings = z.infer<typeof ChildSettings>;

const Chunking = { targetTokens: z.number(), maxTokens: z.number(), overlapTokens: z.number() };

/** What the child is asked to do, a line on its stdin; the bytes are the file `input` in its working directory. */
export const ChildRequest = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("parse"),
    filename: z.string(),
    ocr: z.enum(["auto", "on", "off"]),
    languages: z.array(z.string()),
  }),
  z.object({ type: z.literal("chunk"), ...Chunking, maxChunks: z.int().positive() }),
]);
export type ChildRequest = z.infer<typeof ChildRequest>;

/** The name of that file. */
export const INPUT_FILE = "input";

const ChunkMessage = z.object({
  content: z.string(),
  heading: z.string(),
  startLine: z.number(),
  endLine: z.number(),
  startChar: z.number(),
  endChar: z.number(),
  page: z.number().nullable(),
  tokens: z.string(),
  tokenCount: z.number(),
  estimatedTokens: z.number(),
});

/** What the child answers, beside pieces of Markdown. `done` and `failed` end a request. */
export const ChildMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("progress"), page: z.number(), pages: z.number().nullable() }),
  z.object({ type: z.literal("chunks"), chunks: z.array(ChunkMessage) }),
  z.object({
    type: z.literal("done"),
    lines: z.number(),
    pages: z.number().nullable(),
    parser: z.string(),
    fileType: z.string(),
    warnings: z.array(z.string()),
    cpuMs: z.number(),
  }),
  z.object({ type: z.literal("failed"), code: z.string(), message: z.string() }),
]);
export type ChildMessage = z.infer<typeof ChildMessage>;
