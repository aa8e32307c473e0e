/** A chunk, by how near its vector is. */
export interface VectorHit {
  readonly chunkId: number;
  /** -1 to 1; larger is nearer. */
  readonly cosine: number;
}

/** A question to the vectors of one knowledge base. */
export interface VectorQuery {
  readonly kbNo: number;
  readonly model: string;
  readonly vector: Float32Array;
  readonly limit: number;
  /** Only chunks of these files; absent: of all. */
  readonly fileIds?: readonly string[] | undefined;
}

/** The vectors that one index is over: another model's, or of another length, are not compared with them. */
export interface VectorSpace {
  readonly kbNo: number;
  readonly model: string;
  readonly dims: number;
}
