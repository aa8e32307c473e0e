import { z } from "zod";
import { Chunking } from "../../protocol/knowledge-bases.ts";
import { ParseParams } from "../../protocol/knowledge-files.ts";

const FileIds = z.array(z.string()).max(1_000);

/** Which files a task visits: these, or all of a knowledge base that are in a state it takes. */
const Selection = {
  kb_id: z.string(),
  file_ids: FileIds.optional(),
  pending: z.literal(true).optional(),
  include_failed: z.boolean().optional(),
};

export const IngestPayload = z.strictObject({
  kb_id: z.string(),
  file_ids: FileIds,
  params: z.strictObject({ auto_index: z.boolean(), chunking: Chunking }).partial(),
});
export const ParsePayload = z.strictObject({ ...Selection, params: ParseParams });
export const IndexPayload = z.strictObject({
  ...Selection,
  /** Every file that was indexed: another embedding model. */
  all: z.literal(true).optional(),
  params: z.strictObject({ chunking: Chunking }).partial(),
});
/** Without `file_ids` all of a knowledge base that has been deleted. */
export const DeletePayload = z.strictObject({ kb_id: z.string(), file_ids: FileIds.optional() });

export const VectorIndexPayload = z.strictObject({ kb_id: z.string() });

export type IngestPayload = z.infer<typeof IngestPayload>;
export type ParsePayload = z.infer<typeof ParsePayload>;
export type IndexPayload = z.infer<typeof IndexPayload>;
export type DeletePayload = z.infer<typeof DeletePayload>;

/** What starting a task needs to know of a kind; the handlers are the workers' (`tasks.ts`). */
export interface StartableKind<Payload> {
  readonly kind: string;
  readonly payload: z.ZodType<Payload>;
}

/** The kinds of background work on knowledge bases. */
export const KINDS = {
  ingest: { kind: "knowledge_ingest", payload: IngestPayload },
  parse: { kind: "knowledge_parse", payload: ParsePayload },
  index: { kind: "knowledge_index", payload: IndexPayload },
  delete: { kind: "knowledge_delete", payload: DeletePayload },
  vectorIndex: { kind: "knowledge_vector_index", payload: VectorIndexPayload },
} as const satisfies Readonly<Record<string, StartableKind<unknown>>>;
