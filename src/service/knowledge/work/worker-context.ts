import type { Logger } from "pino";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Embedder } from "../models/embed.ts";
import type { Lexical } from "../lexical/lexical.ts";
import type { Parser } from "../parse/parser.ts";
import type { Vectors } from "../vectors/vectors.ts";
import type { OnKnowledgeStep } from "../state/steps.ts";

/** What work on files is done with. */
export interface KnowledgeWorker {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly parser: Parser;
  readonly lexical: Lexical;
  readonly vectors: Vectors;
  readonly embedder: Embedder | undefined;
  readonly logger: Logger;
  /** A claim that was not renewed for so long is given up. */
  readonly leaseMs: number;
  /** Files at once in one process. */
  readonly filesAtOnce: number;
  readonly maxChunks: number;
  /** Most bytes of Markdown. */
  readonly outputBytes: number;
  readonly onStep?: OnKnowledgeStep | undefined;
}
