import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Exit, RecordedPiece, RecordedTurn, TimelineEntry } from "../../protocol/index.ts";
import { readDocumentValues, type DocumentValue } from "./document-values.ts";
import { openWriter } from "./file-writer.ts";
import { bytesOf } from "./pieces.ts";
import { RecordingVersion } from "./recording.ts";
import { describeIssues, RecordingError } from "./recording-error.ts";
import { DocumentError } from "./scan-document.ts";
import { TIMELINE_FILE } from "./timeline.ts";

/**
 * Makes a recording directory of a document, whatever its size.
 *
 * @param name - how messages call the document
 * @param directory - empty; half filled when this throws
 * @throws {RecordingError} that names the wrong field, or the value after which the document is cut off
 */
export async function unpackDocument(
  chunks: AsyncIterable<Buffer>,
  { name, directory }: { readonly name: string; readonly directory: string },
): Promise<void> {
  const files = {
    stdout: await openWriter(join(directory, "stdout.jsonl")),
    stderr: await openWriter(join(directory, "stderr.log")),
    timeline: await openWriter(join(directory, TIMELINE_FILE)),
  };
  const seen = new Set<string>();

  async function store({ field, index, value }: DocumentValue): Promise<void> {
    const check = <T extends z.ZodType>(schema: T): z.output<T> => {
      const parsed = schema.safeParse(value);
      if (parsed.success) return parsed.data;
      throw new RecordingError(name, describeIssues(parsed.error, index === undefined ? [field] : [field, index]));
    };
    const write = (file: string, content: string): Promise<void> => writeFile(join(directory, file), content);
    switch (field) {
      case "v":
        check(RecordingVersion);
        return;
      case "turn":
        return write("turn.json", JSON.stringify(check(RecordedTurn)));
      case "exit":
        // Without the file the end of the process was not recorded.
        return value === null ? undefined : write("exit.json", JSON.stringify(check(Exit)));
      case "input":
        return write("prompt.txt", check(z.string()));
      case "stdout":
      case "stderr":
        return index === undefined ? void check(List) : files[field].write(bytesOf(check(RecordedPiece)));
      case "timeline":
        return index === undefined
          ? void check(List)
          : files.timeline.write(Buffer.from(`${JSON.stringify(check(TimelineEntry))}\n`));
      default:
        throw new RecordingError(name, `has an unknown field ${JSON.stringify(field.slice(0, 100))}`);
    }
  }

  try {
    for await (const found of readDocumentValues(chunks, LISTS)) {
      if (found.index === undefined && seen.has(found.field)) throw new DocumentError(`has ${found.field} twice`);
      seen.add(found.field);
      await store(found);
    }
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new RecordingError(name, error.message);
  } finally {
    await Promise.all(Object.values(files).map((file) => file.close()));
  }
  const missing = REQUIRED.filter((field) => !seen.has(field));
  if (missing.length > 0) throw new RecordingError(name, `is no recording: it has no ${missing.join(", no ")}`);
}

const LISTS = new Set(["stdout", "stderr", "timeline"]);
const REQUIRED = ["v", "turn", "exit", "stdout", "stderr"];
/** Elements come one by one, so what comes as a whole is the beginning of a list, or something else. */
const List = z.tuple([], "is no array");
