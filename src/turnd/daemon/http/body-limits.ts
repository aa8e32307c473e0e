import type { RouteOptions } from "fastify";
import { MAX_PUBLIC_BODY_BYTES, MAX_PUBLIC_BODY_VALUES, type BodyLimit } from "../../../kit/http/body-limits.ts";

/** Limits of bodies. Source: the settings `TURND_MAX_*BODY_*`. */
export interface BodyLimits {
  /** Where there may be an image, a long text or a recording. */
  readonly long: number;
  readonly plain: number;
  /** Values and names in one. */
  readonly values: number;
}

/** What needs more than a plain body. */
const LONG: ReadonlySet<string> = new Set([
  // A text of a megabyte, and images.
  "/v1/turns",
  // Instructions, and servers with their arguments, variables and headers.
  "/v1/sessions",
  // What is pasted: 256 KiB of text.
  "/v1/shell/sessions/:session_id/input",
  // Lines as a CLI has printed them.
  "/inspector/output-origin",
]);

/** A recording has a value for each line, and some more for each entry of its timeline: never one for so few bytes. */
const REPLAYS = "/v1/replays";
const BYTES_OF_A_VALUE = 8;

/** The table from a route to the limit of its bodies. A file that is written has its own, where it is written. */
export function createBodyLimits({ long, plain, values }: BodyLimits) {
  return ({ url, config }: Pick<RouteOptions, "url" | "config">): BodyLimit => {
    if (config?.isPublic === true) {
      return {
        bytes: Math.min(MAX_PUBLIC_BODY_BYTES, plain, long),
        values: Math.min(values, MAX_PUBLIC_BODY_VALUES),
      };
    }
    if (url === REPLAYS) return { bytes: long, values: Math.ceil(long / BYTES_OF_A_VALUE) };
    return { bytes: LONG.has(url) ? long : Math.min(plain, long), values };
  };
}
