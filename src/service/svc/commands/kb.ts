import { Option, type Command } from "commander";
import { extensions } from "../arguments.ts";
import { wholeNumber } from "../../../kit/command-line/whole-number.ts";
import type { Run } from "./run-command.ts";
import type { FilesOptions } from "./kb-files.ts";
import type { FindOptions } from "./kb-find.ts";
import type { ListOptions } from "./kb-list.ts";
import type { OpenOptions } from "./kb-open.ts";
import type { QueryOptions } from "./kb-query.ts";
import type { UploadOptions } from "./kb-upload.ts";
import type { WorkOptions } from "./kb-work.ts";

const MANY = 1_000_000_000;
const STATUSES = ["uploaded", "parsing", "parsed", "error_parsing", "indexing", "indexed", "error_indexing"];
const MODES = ["auto", "keyword", "vector", "hybrid"];

/** The commands of `svc kb`. */
export function addKnowledgeCommands(kb: Command, run: Run): void {
  kb.command("list")
    .description("list the knowledge bases you may read")
    .option("--query <text>", "those with this in their name")
    .option("--skip <n>", "leave out the first", wholeNumber(0, MANY))
    .option("--limit <n>", "at most so many", wholeNumber(1, 500))
    .action(async (options: ListOptions) => run((await import("./kb-list.ts")).listBases, options));

  withBase(kb, "upload")
    .description("upload the files of a directory, or one file, and add their records; nothing is parsed or indexed")
    .argument("<path>", "a directory or a file")
    .option("--include-ext <list>", "only these extensions, such as pdf,md", extensions)
    .option("--exclude-ext <list>", "not these extensions", extensions)
    .option("--concurrency <n>", "files at once", wholeNumber(1, 16), 4)
    .option("--dry-run", "show what would be uploaded")
    .option("-y, --yes", "do not ask before more than 100 files or 1 GiB")
    .option("--allow-duplicate", "also upload content that the knowledge base has already")
    .option("--no-resume", "do not go on where an upload of this directory was ended")
    .action(async (path: string, options: UploadOptions) =>
      run((await import("./kb-upload.ts")).upload, path, options),
    );

  withBase(kb, "files")
    .description("list files, or search their names")
    .option("--query <text>", "those with this in their name")
    .addOption(new Option("--status <state>", "those in this state").choices(STATUSES))
    .option("--offset <n>", "leave out the first", wholeNumber(0, MANY))
    .option("--limit <n>", "at most so many", wholeNumber(1, 500))
    .action(async (options: FilesOptions) => run((await import("./kb-files.ts")).listFiles, options));

  withBase(kb, "query")
    .description("ask a knowledge base")
    .argument("<text...>", "the question")
    .option("--top-k <n>", "at most so many hits", wholeNumber(1, 100))
    .addOption(new Option("--mode <mode>", "how to search").choices(MODES))
    .option("--file-name <text>", "only in files with this in their name")
    .action(async (words: string[], options: QueryOptions) =>
      run((await import("./kb-query.ts")).query, words, options),
    );

  withFile(kb, "open")
    .description("show the parsed Markdown of a file, by lines")
    .option("--offset <n>", "lines to leave out", wholeNumber(0, MANY))
    .option("--limit <n>", "lines to show", wholeNumber(1, 1_800))
    .option("--all", "all lines from there on")
    .option("--plain", "without line numbers")
    .action(async (options: OpenOptions) => run((await import("./kb-open.ts")).openFile, options));

  withFile(kb, "find")
    .description("find words, or a regular expression, in a file")
    .requiredOption("--pattern <text...>", "what to find; any of several")
    .option("--regex", "the patterns are regular expressions (RE2)")
    .option("--case-sensitive", "upper and lower case differ")
    .option("--max-windows <n>", "places to show", wholeNumber(1, 20))
    .option("--window-size <n>", "lines of a place", wholeNumber(1, 200))
    .option("--after-line <n>", "go on behind this line", wholeNumber(0, MANY))
    .action(async (options: FindOptions) => run((await import("./kb-find.ts")).find, options));

  withWork(kb, "parse")
    .description("have files parsed")
    .option("--force", "also files that are parsed already")
    .addOption(new Option("--ocr <when>", "read pictures of text").choices(["auto", "on", "off"]))
    .option("--languages <list>", "of the pictures, such as eng+chi_sim")
    .action(async (options: WorkOptions) => run((await import("./kb-work.ts")).work, "parse", options));
  withWork(kb, "index")
    .description("have parsed files indexed, so that they are found")
    .action(async (options: WorkOptions) => run((await import("./kb-work.ts")).work, "index", options));

  withBase(kb, "status")
    .description("show how far the files of a knowledge base are")
    .action(async (options: { kbId: string }) => run((await import("./kb-status.ts")).showStatus, options));
}

function withBase(kb: Command, name: string): Command {
  return kb.command(name).requiredOption("--kb-id <id>", "the knowledge base");
}

function withFile(kb: Command, name: string): Command {
  return withBase(kb, name).requiredOption("--file-id <id>", "the file");
}

function withWork(kb: Command, name: string): Command {
  return withBase(kb, name)
    .option("--file-id <id...>", "these files")
    .option("--pending", "all files that are due")
    .option("--include-failed", "with --pending: also those that failed before")
    .option("--wait", "wait until it is done; the exit code is 1 where a file failed");
}
