import { sql } from "kysely";
import type { Embedder } from "../../../../src/service/knowledge/models/embed.ts";
import { vectorTable } from "../../../../src/service/knowledge/state/partitions.ts";
import { createRandom } from "../../../soak/random.ts";
import type { EngineName } from "../../../soak/service/stage.ts";
import { percentile, type Figure } from "../../figures.ts";
import { timed } from "../../timed.ts";
import { queries, sections } from "./corpus.ts";
import { withKnowledge, type KnowledgeStage } from "./stage.ts";

const DIMS = 384;
const MODEL = "bench";
/** Without pgvector a knowledge base has at most 20 000 chunks with vectors. */
const CHUNKS = { pglite: 50_000, postgres: 20_000 } as const;
const FILES = 10;
const QUERIES = 20;

/** Vectors of no meaning, at once: what a model server costs is not the service's. */
const embedder: Embedder = {
  models: [MODEL],
  embed: async (_model, texts) => ({ vectors: texts.map(vectorOf), cut: 0 }),
};

function vectorOf(text: string): Float32Array {
  let seed = 7;
  for (let at = 0; at < text.length; at += 1) seed = (Math.imul(seed, 31) + text.charCodeAt(at)) | 0;
  const random = createRandom(seed);
  return Float32Array.from({ length: DIMS }, () => random.next() - 0.5);
}

/** Questions by nothing but their vectors, beside the comparison of all vectors and nothing else. */
export async function benchVectors(engine: EngineName, directory: string): Promise<Figure[]> {
  const measured = await withKnowledge(
    engine,
    directory,
    async (stage) => {
      await stage.storage.db
        .updateTable("knowledge_base")
        .set({ embedding_model_spec: MODEL })
        .where("id", "=", stage.base.id)
        .execute();
      const base = { ...stage.base, embedding_model_spec: MODEL };
      const each = CHUNKS[engine] / FILES;
      const files = Array.from({ length: FILES }, (_none, file) => [`${file}.md`, sections(each, file + 40)] as const);
      const tookMs = await stage.import(await stage.upload(files));
      const compare = engine === "pglite" ? compareByEngine : await readMatrix(stage);
      const [answers, bare]: [number[], number[]] = [[], []];
      for (const query of ["warm up", ...queries(QUERIES)]) {
        answers.push(await timed(() => stage.knowledge.retrieve(base, { query, options: { search_mode: "vector" } })));
        bare.push(await timed(() => compare(stage, vectorOf(query))));
      }
      const [first = 0] = answers;
      const [ours, theirs] = [percentile(answers.slice(1), 0.5), percentile(bare.slice(1), 0.5)];
      return {
        perSecond: CHUNKS[engine] / (tookMs / 1_000),
        figure: {
          measure: `knowledge ${engine}: retrieve by vector from ${CHUNKS[engine]} × ${DIMS}, p50 (the first)`,
          turnd: `${ours.toFixed(0)} (${first.toFixed(0)}) ms`,
          yardstick: `${theirs.toFixed(0)} ms, ${engine === "pglite" ? "only pgvector's exact order" : "one loop over all in memory"}`,
          ratio: ours / theirs,
        },
      };
    },
    { embedder },
  );
  return [
    {
      measure: `knowledge ${engine}: chunks with ${DIMS} dimensions parsed and indexed`,
      turnd: `${measured.perSecond.toFixed(0)} /s`,
      yardstick: "1280 /s, 20 calls of 64 texts to a model server",
      ratio: measured.perSecond / 1_280,
    },
    measured.figure,
  ];
}

async function compareByEngine({ storage, base }: KnowledgeStage, vector: Float32Array): Promise<void> {
  await sql`select chunk_id from ${vectorTable(base.no)}
    order by embedding <=> ${`[${vector.join(",")}]`}::halfvec limit 10`.execute(storage.db);
}

/** All vectors as one array of numbers. */
async function readMatrix({ storage, base }: KnowledgeStage) {
  const { rows } = await sql<{ bytes: Uint8Array }>`
    select embedding as bytes from ${vectorTable(base.no)}`.execute(storage.db);
  const values = new Float32Array(rows.length * DIMS);
  for (const [row, { bytes }] of rows.entries()) {
    const copy = Uint8Array.from(bytes);
    values.set(new Float32Array(copy.buffer), row * DIMS);
  }
  return async (_stage: KnowledgeStage, vector: Float32Array): Promise<void> => {
    const dots: [number, number][] = [];
    for (let row = 0; row < rows.length; row += 1) {
      let sum = 0;
      for (let at = 0; at < DIMS; at += 1) sum += (values[row * DIMS + at] ?? 0) * (vector[at] ?? 0);
      dots.push([sum, row]);
    }
    dots.sort(([left], [right]) => right - left);
  };
}
