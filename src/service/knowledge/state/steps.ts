/** The points between which a process may end; tests kill it at each of them. */
export const KNOWLEDGE_STEPS = [
  "upload.stored",
  "upload.recorded",
  "add.recorded",
  "parse.claimed",
  "parse.parsed",
  "parse.stored",
  "parse.finished",
  "index.claimed",
  "index.begun",
  "index.written",
  "index.finished",
  "delete.records",
  "delete.objects",
  "delete.rows",
] as const;
export type KnowledgeStep = (typeof KNOWLEDGE_STEPS)[number];

/** Called at each step. */
export type OnKnowledgeStep = (step: KnowledgeStep, id: string) => void;
