import * as z from "zod";

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
