import PQueue from "p-queue";
import { z } from "zod";
import { askModelServer, ModelServerFailed, type ModelServer } from "./model-server.ts";

export interface EmbedderOptions extends ModelServer {
  /** Models that may be named; the first is the default. */
  readonly models: readonly string[];
  /** Texts of one call. */
  readonly batch: number;
}

/** Texts to vectors, by a server of the operator's. */
export interface Embedder {
  readonly models: readonly string[];
  /**
   * One vector for each text, in order, all of one length.
   *
   * @throws {ModelServerFailed}, or the signal's reason
   */
  embed(model: string, texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
}

export interface Embedded {
  readonly vectors: readonly Float32Array[];
  /** Texts that the model did not take whole. */
  readonly cut: number;
}

/** Calls of one process at once. */
const AT_ONCE = 2;
/** Shortest text that is cut again when a model refuses it. */
const SHORTEST = 64;
/** What servers answer to a text that is too long; with some it is 413 or 422 instead of 400. */
const TOO_LONG = new Set([400, 413, 422]);

const Answer = z.looseObject({
  data: z.array(z.looseObject({ embedding: z.array(z.number()).min(1), index: z.int().min(0) })),
});

export function createEmbedder(options: EmbedderOptions): Embedder {
  const places = new PQueue({ concurrency: AT_ONCE });

  async function ask(model: string, input: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const body = { model, input, encoding_format: "float" };
    // With the signal: a caller that only waits behind another's calls ends at once, too.
    const answer = await places.add(() => askModelServer(options, "/embeddings", body, { schema: Answer, signal }), {
      signal,
    });
    const vectors = new Map(answer.data.map(({ index, embedding }) => [index, Float32Array.from(embedding)]));
    return input.map((_text, index) => {
      const vector = vectors.get(index);
      if (vector === undefined) throw new ModelServerFailed(`the embedding of text ${index} is missing in the answer`);
      return vector;
    });
  }

  /** Halves a batch that is refused as too long; a single text is cut. */
  async function embedAll(model: string, texts: readonly string[], signal: AbortSignal): Promise<Embedded> {
    try {
      return { vectors: await ask(model, texts, signal), cut: 0 };
    } catch (error) {
      if (!(error instanceof ModelServerFailed) || error.status === undefined || !TOO_LONG.has(error.status))
        throw error;
      if (texts.length > 1) {
        const middle = Math.ceil(texts.length / 2);
        const first = await embedAll(model, texts.slice(0, middle), signal);
        const second = await embedAll(model, texts.slice(middle), signal);
        return { vectors: [...first.vectors, ...second.vectors], cut: first.cut + second.cut };
      }
      const [text = ""] = texts;
      if (text.length <= SHORTEST) throw error;
      const { vectors } = await embedAll(model, [text.slice(0, Math.ceil(text.length / 2)).toWellFormed()], signal);
      return { vectors, cut: 1 };
    }
  }

  return {
    models: options.models,
    async embed(model, texts, signal) {
      const batches: (readonly string[])[] = [];
      for (let start = 0; start < texts.length; start += options.batch)
        batches.push(texts.slice(start, start + options.batch));
      const done = await Promise.all(batches.map((batch) => embedAll(model, batch, signal)));
      const vectors = done.flatMap((part) => part.vectors);
      if (new Set(vectors.map(({ length }) => length)).size > 1)
        throw new ModelServerFailed("the model server gave vectors of different lengths");
      return { vectors, cut: done.reduce((sum, part) => sum + part.cut, 0) };
    },
  };
}

/** What is embedded of a chunk. */
export function textToEmbed({ heading, content }: { readonly heading: string; readonly content: string }): string {
  return heading === "" ? content : `${heading}\n${content}`;
}
