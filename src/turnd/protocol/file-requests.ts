import * as z from "zod";
import { queryFlag, queryNumber, SessionPath } from "./requests.ts";

/** Path parameters of a file. Its bytes are read from the URL as it was sent. */
export const FilePath = z.strictObject({
  ...SessionPath.shape,
  path: z.string().meta({
    description:
      "Below the workspace; `/` stands between directories, every other byte may be percent-encoded. `.`, `..`, an " +
      "empty part, `%2F` and `%00` are refused.",
  }),
});

/** Query of `GET /v1/sessions/{session_id}/files`, and of a directory below it. */
export const FilesQuery = z.strictObject({
  archive: z
    .enum(["zip"])
    .optional()
    .meta({ description: "Send the directory with all below it as a zip; links and special files are left out." }),
  limit: queryNumber(1, 1000).default(1000).meta({ description: "Most entries of one page of a directory." }),
  after: z
    .string()
    .regex(/^([0-9a-f]{2}){1,255}$/)
    .optional()
    .meta({ description: "`next_after` of the page before." }),
});

/** Query of `PUT /v1/sessions/{session_id}/files/{path}`. */
export const FileWriteQuery = z.strictObject({
  executable: queryFlag()
    .optional()
    .meta({ type: "boolean", description: "`true` makes the new file executable (mode 755 instead of 644)." }),
});

/** Query of `DELETE /v1/sessions/{session_id}/files/{path}`. */
export const FileRemovalQuery = z.strictObject({
  recursive: queryFlag().optional().meta({
    type: "boolean",
    description: "`true` removes a directory with all below it; links in it, not their targets.",
  }),
});

/** Headers of a read that are heeded; others are ignored. */
export const FileReadHeaders = z.looseObject({
  range: z
    .string()
    .optional()
    .meta({ description: "One range of bytes, such as `bytes=0-1023`; several are ignored." }),
  "if-range": z
    .string()
    .optional()
    .meta({ description: "The ETag for which `Range` holds; for another, all is sent." }),
  "if-match": z.string().optional().meta({ description: "412 where the file does not have this ETag." }),
  "if-none-match": z.string().optional().meta({ description: "304 where the file still has this ETag." }),
});

/** Headers of a change that are heeded; others are ignored. */
export const FileChangeHeaders = z.looseObject({
  "if-match": z
    .string()
    .optional()
    .meta({ description: "One ETag, or `*`: 412 where the file is not there, or has another one." }),
  "if-none-match": z.string().optional().meta({ description: "Only `*`: 412 where anything is there." }),
});
