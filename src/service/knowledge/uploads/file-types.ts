import { defined } from "../../../kit/defined.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { SupportedTypes } from "../../protocol/knowledge-files.ts";
import { isStorable } from "../../storage/storable.ts";
import type { SupportedType } from "../parse/parser.ts";

const MAX_FILENAME = 255;
// oxlint-disable-next-line no-control-regex -- these are what is refused
const FORBIDDEN = /[\u0000-\u001f\u007f/\\]/;

/**
 * Checks the name of an upload.
 *
 * @returns its extension, lower-case
 * @throws {ApiProblem} filename_invalid, unsupported_file_type
 */
export function checkFilename(filename: string, types: readonly SupportedType[]): string {
  if (filename.trim() === "" || filename.length > MAX_FILENAME || FORBIDDEN.test(filename) || !isStorable(filename)) {
    throw new ApiProblem(
      "filename_invalid",
      `a file name has 1 to ${MAX_FILENAME} characters, without control characters and slashes`,
    );
  }
  const extension = /\.([A-Za-z0-9]+)$/.exec(filename)?.[1]?.toLowerCase() ?? "";
  if (types.some((type) => type.extension === extension)) return extension;
  throw new ApiProblem("unsupported_file_type", `files of type ${JSON.stringify(extension)} are not taken`, {
    extension,
    supported: types.map((type) => type.extension),
  });
}

/** The types that a setting leaves of all that are known. An empty setting leaves all. */
export function takenTypes(known: readonly SupportedType[], setting: readonly string[]): readonly SupportedType[] {
  return setting.length === 0 ? known : known.filter(({ extension }) => setting.includes(extension));
}

/** Which types are taken, and which of them can be read here. */
export function describeTypes(types: readonly SupportedType[]): SupportedTypes {
  return {
    types: types.map(({ extension, parser, isAvailable, needs }) => ({
      extension,
      parser,
      available: isAvailable,
      ...defined({ needs }),
    })),
  };
}
