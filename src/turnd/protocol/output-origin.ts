import * as z from "zod";
import { CliName } from "./executors.ts";

/** Lines that are sent at most: so many records leave no doubt. */
export const MOST_HEAD_LINES = 200;

/** Body of `POST /inspector/output-origin`: the first lines of a CLI's output. */
export const OutputHead = z
  .strictObject({ lines: z.array(z.string()).max(MOST_HEAD_LINES) })
  .meta({ id: "OutputHead", description: "The first lines of a file of stdout." });
export type OutputHead = z.infer<typeof OutputHead>;

/** Which CLI printed it. */
export const OutputOrigin = z
  .strictObject({ executor: CliName })
  .meta({ id: "OutputOrigin", description: "Which CLI printed a file of stdout." });
export type OutputOrigin = z.infer<typeof OutputOrigin>;
