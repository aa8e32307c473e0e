import * as z from "zod";
import { byteLength } from "./byte-length.ts";

/** Longest instructions, in bytes of UTF-8. */
export const MAX_INSTRUCTIONS_BYTES = 65_536;
// eslint-disable-next-line no-control-regex -- a tab and a line break are the only ones that a text needs
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/** Text that a model can be given as instructions; it may be empty. */
export const InstructionsText = z
  .string()
  .refine((value) => !CONTROL.test(value) && value.isWellFormed(), "must be text without control characters")
  .refine((value) => byteLength(value) <= MAX_INSTRUCTIONS_BYTES, `at most ${MAX_INSTRUCTIONS_BYTES} bytes of UTF-8`);

/** What the model gets besides the instructions of the CLI and of the repository: in every turn of a session, or in one turn. */
export const Instructions = InstructionsText.refine((value) => value.trim() !== "", "must not be empty").meta({
  id: "Instructions",
  description: "What the model is given besides the CLI's and the repository's own instructions.",
});
