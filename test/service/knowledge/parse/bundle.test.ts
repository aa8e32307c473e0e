import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { bundleParser } from "../../../../scripts/bundle-parser.ts";
import { DOCUMENTS } from "./harness.ts";

const SETTINGS = { maxPages: 100, outputBytes: 1_000_000, tesseract: null, soffice: null };

test("the program as one file reads every kind of document, with nothing beside it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "parser-bundle-"));
  onTestFinished(async () => await rm(directory, { recursive: true, force: true }));
  const program = join(directory, "parse-child.mjs");
  await bundleParser(program);
  for (const name of ["groff-two-columns.pdf", "pandoc-report.docx", "article.html", "libreoffice-workbook.xls"]) {
    const cwd = join(directory, name);
    await mkdir(cwd);
    await copyFile(join(DOCUMENTS, name), join(cwd, "input"));
    const child = spawn(process.execPath, [program, JSON.stringify(SETTINGS)], {
      cwd,
      env: {},
      stdio: ["pipe", "ignore", "inherit", "pipe"],
    });
    child.stdin?.end(`${JSON.stringify({ type: "parse", filename: name, ocr: "off", languages: [] })}\n`);
    const answers: unknown = child.stdio[3];
    if (!(answers instanceof Readable)) throw new Error("no pipe for answers");
    expect((await buffer(answers)).toString(), name).toContain('"type":"done"');
  }
});
