import type { ParserEngines, SupportedType } from "./parser.ts";
import { KNOWN_TYPES } from "./types.ts";

const PROGRAMS = { ocr: "tesseract", converter: "soffice" } as const;

/** Every known extension, and whether this machine can read it. */
export function supportedTypes(engines: ParserEngines): SupportedType[] {
  return Object.entries(KNOWN_TYPES).map(([extension, { parser, needs }]) => {
    if (needs === undefined) return { extension, parser, isAvailable: true };
    const isAvailable = engines[needs] !== null && (needs !== "ocr" || engines.ocrLanguages.length > 0);
    return { extension, parser, isAvailable, needs: PROGRAMS[needs] };
  });
}
