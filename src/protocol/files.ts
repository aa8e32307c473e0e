import * as z from "zod";
import { queryFlag, queryNumber, SessionPath } from "./requests.ts";

/** What stands at a path of a workspace. Links are shown, never followed. */
export const FileType = z.enum(["file", "directory", "link", "other"]).meta({
  id: "FileType",
  description: "`other` is a named pipe, a socket or a device: it is never opened.",
});
export type FileType = z.infer<typeof FileType>;

/** A file, directory or link in a session's workspace. */
export const FileEntry = z
  .strictObject({
    name: z.string().meta({ description: "For people: what is not UTF-8 in it is U+FFFD." }),
    path: z.string().meta({
      description:
        "Below the workspace, percent-encoded: put behind `/v1/sessions/{session_id}/files/` it names this entry, " +
        "whatever bytes its name has.",
    }),
    type: FileType,
    size_bytes: z.int().nonnegative().describe("Its length in bytes; 2^53 - 1 also stands for more."),
    modified_at: z.iso.datetime().describe("When its content last changed, UTC."),
    mode: z.string().meta({ description: "Permissions in octal, such as `644`." }),
    etag: z.string().optional().meta({
      description: "Of a file: changes with its content. `If-Match` and `If-None-Match` compare it.",
    }),
    target: z.string().optional().meta({ description: "Of a link: what it names, as it is written." }),
  })
  .meta({ id: "FileEntry", description: "A file, directory or link in a session's workspace." });
export type FileEntry = z.infer<typeof FileEntry>;

/** A page of a directory. */
export const FileList = z
  .strictObject({
    path: z.string().meta({ description: 'Of the directory, percent-encoded; "" is the workspace.' }),
    entries: z.array(FileEntry).meta({ description: "In the order of the bytes of their names." }),
    next_after: z.string().optional().meta({ description: "`after` of the next page; absent on the last one." }),
  })
  .meta({ id: "FileList", description: "A page of a directory." });
export type FileList = z.infer<typeof FileList>;

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
