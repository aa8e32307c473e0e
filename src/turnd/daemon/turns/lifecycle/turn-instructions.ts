import { createHash } from "node:crypto";

interface Instructed {
  readonly instructions?: string | undefined;
}

/** What a turn's model is given: the instructions of its session, then its own; empty for none. */
export function instructionsOf(session: Instructed | undefined, turn: Instructed): string {
  return [session?.instructions, turn.instructions].filter((text) => text !== undefined).join("\n\n");
}

/** Tells the instructions of two turns apart, SHA-256 in hex; undefined for none. */
export function digestOfInstructions(instructions: string): string | undefined {
  return instructions === "" ? undefined : createHash("sha256").update(instructions).digest("hex");
}
