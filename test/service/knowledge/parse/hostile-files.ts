import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { utils, write, CFB } from "@e965/xlsx";
import type { ParseFailureCode } from "../../../../src/service/knowledge/parse/failures.ts";
import { DOCUMENTS } from "./harness.ts";
import { writeZip } from "./zip-writer.ts";

/** A document that means no good, and how it must end: in one of the codes, or read after all. */
export interface HostileFile {
  readonly name: string;
  readonly filename: string;
  readonly ends: readonly (ParseFailureCode | "read")[];
  make(): Buffer;
}

const fixture = (name: string): Buffer => readFileSync(join(DOCUMENTS, name));
const MIB = 1024 * 1024;
const TYPES =
  '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>';
const RELATIONS =
  '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>';
const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

function docx(document: string | Buffer): Buffer {
  return writeZip([
    { name: "[Content_Types].xml", data: TYPES },
    { name: "_rels/.rels", data: RELATIONS },
    { name: "word/document.xml", data: document },
  ]);
}

function wordBody(body: string, before = ""): string {
  return `<?xml version="1.0"?>${before}<w:document ${WORD}><w:body>${body}</w:body></w:document>`;
}

const PARAGRAPH = "<w:p><w:r><w:t>text</w:t></w:r></w:p>";

/** A PDF of one page with a content stream, packed. */
function pdf(content: Buffer, more: readonly string[] = [], page = ""): Buffer {
  const packed = deflateSync(content, { level: 9 });
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>${page}>>>>`,
    undefined,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...more,
  ];
  const parts = [Buffer.from("%PDF-1.4\n")];
  for (const [index, object] of objects.entries()) {
    parts.push(Buffer.from(`${index + 1} 0 obj\n`));
    if (object === undefined) {
      parts.push(
        Buffer.from(`<</Length ${packed.length}/Filter/FlateDecode>>stream\n`),
        packed,
        Buffer.from("\nendstream"),
      );
    } else parts.push(Buffer.from(object));
    parts.push(Buffer.from("\nendobj\n"));
  }
  parts.push(Buffer.from("trailer<</Root 1 0 R/Size 99>>\n%%EOF\n"));
  return Buffer.concat(parts);
}

function sheet(rows: readonly (readonly unknown[])[]): Buffer {
  const book = utils.book_new();
  utils.book_append_sheet(book, utils.aoa_to_sheet(rows.map((row) => [...row])), "S");
  return Buffer.from(write(book, { type: "buffer", bookType: "xlsx", compression: true }) as Uint8Array);
}

/** A sheet of one cell, as far away as a cell can be; by hand, since writing it takes what reading it must not. */
function farCell(): Buffer {
  const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
  const relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const open = "http://schemas.openxmlformats.org/package/2006";
  const type = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  return writeZip([
    {
      name: "[Content_Types].xml",
      data: `<Types xmlns="${open}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${type}.worksheet+xml"/></Types>`,
    },
    {
      name: "_rels/.rels",
      data: `<Relationships xmlns="${open}/relationships"><Relationship Id="r1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    },
    {
      name: "xl/workbook.xml",
      data: `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
    },
    {
      name: "xl/_rels/workbook.xml.rels",
      data: `<Relationships xmlns="${open}/relationships"><Relationship Id="r1" Type="${relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    },
    {
      name: "xl/worksheets/sheet1.xml",
      data: `<worksheet xmlns="${main}"><dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1" t="str"><v>near</v></c></row><row r="1048576"><c r="XFD1048576" t="str"><v>far</v></c></row></sheetData></worksheet>`,
    },
  ]);
}

function encryptedPackage(): Buffer {
  const compound = CFB.utils.cfb_new();
  CFB.utils.cfb_add(compound, "/EncryptedPackage", Buffer.alloc(5_000, 1));
  CFB.utils.cfb_add(compound, "/EncryptionInfo", Buffer.alloc(500, 1));
  return Buffer.from(CFB.write(compound, { type: "buffer" }) as Uint8Array);
}

function file(filename: string, name: string, ends: HostileFile["ends"], make: () => Buffer): HostileFile {
  return { filename, name, ends, make };
}

const text = (value: string) => (): Buffer => Buffer.from(value);
const member = { name: "a.txt", data: "hello" };

/** What is refused or read by its content. */
export const HOSTILE_FILES: readonly HostileFile[] = [
  file("a.pdf", "text called pdf", ["corrupt"], text("This is no PDF at all. ".repeat(100))),
  file("a.pdf", "a pdf of its header", ["corrupt"], text("%PDF-1.7\n")),
  file("a.pdf", "a pdf with a user password", ["encrypted"], () => fixture("user-password.pdf")),
  file("a.pdf", "a pdf with a form that draws itself", ["corrupt", "no_text", "read"], () =>
    pdf(
      Buffer.from("/X Do BT /F1 9 Tf (seen) Tj ET"),
      [
        "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 5>>stream\n/X Do\nendstream",
      ],
      "/XObject<</X 6 0 R>>",
    ),
  ),
  file("a.docx", "a docx that names a file of the system", ["corrupt"], () =>
    docx(wordBody("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>')),
  ),
  file("a.docx", "a docx of a billion laughs", ["corrupt"], () =>
    docx(
      wordBody(
        "<w:p><w:r><w:t>&j;</w:t></w:r></w:p>",
        `<!DOCTYPE a [<!ENTITY a "ha">${Array.from("bcdefghij", (name, index) => `<!ENTITY ${name} "${`&${"abcdefghij"[index]};`.repeat(10)}">`).join("")}]>`,
      ),
    ),
  ),
  file("a.docx", "a docx with a document type in UTF-16", ["corrupt"], () =>
    docx(Buffer.from(`\ufeff${wordBody(PARAGRAPH, "<!DOCTYPE a>")}`, "utf16le")),
  ),
  file("a.docx", "a docx cut in the middle", ["corrupt"], () => fixture("pandoc-report.docx").subarray(0, 6_000)),
  file("a.docx", "a picture called docx", ["type_mismatch"], () => fixture("scan.png")),
  file("a.docx", "noise called docx", ["corrupt"], () =>
    Buffer.from(Array.from({ length: 9_999 }, (_, index) => (index * 7_919) % 256)),
  ),
  file("a.docx", "an encrypted docx", ["encrypted"], encryptedPackage),
  file("a.txt", "a pdf called txt", ["type_mismatch"], () => fixture("groff-two-columns.pdf")),
  file("a.pptx", "a pptx with a document type", ["corrupt"], () =>
    writeZip([{ name: "ppt/presentation.xml", data: "<!DOCTYPE a><a/>" }]),
  ),
  file("a.xlsx", "a cell at XFD1048576 alone", ["read"], () => farCell()),
  file("a.xls", "noise in an xls", ["corrupt"], () =>
    Buffer.concat([
      fixture("libreoffice-workbook.xls").subarray(0, 512),
      Buffer.alloc(4_000, 0xee),
      Buffer.from("Workbook\0", "utf16le"),
    ]),
  ),
  file("a.csv", "a quote that does not end", ["read"], text(`a,b\n1,2\n3,"4\n${"5,6\n".repeat(1_000)}`)),
  file("a.json", "half a document", ["corrupt"], text('{"a": [1, 2')),
  file("a.jsonl", "lines that are no JSON", ["corrupt"], text("one\ntwo\n")),
  file("a.txt", "zeros in text", ["read"], text("he\0llo\n".repeat(10) + "plain words here. ".repeat(50))),
  file("a.txt", "noise called txt", ["type_mismatch"], () =>
    Buffer.from(Array.from({ length: 9_999 }, (_, index) => (index * 7_919 + (index >> 3)) % 256)),
  ),
  file("a.exe", "an unknown extension", ["unsupported_type"], text("MZ")),
  file("a.zip", "a path out of the archive", ["archive_unsafe"], () =>
    writeZip([member, { ...member, name: "../../etc/cron.d/x.txt" }]),
  ),
  file("a.zip", "an absolute path", ["archive_unsafe"], () => writeZip([{ ...member, name: "/etc/passwd.txt" }])),
  file("a.zip", "a path of Windows", ["archive_unsafe"], () => writeZip([{ ...member, name: "..\\..\\x.txt" }])),
  file("a.zip", "a link", ["archive_unsafe"], () => writeZip([{ name: "a.txt", data: "/etc/passwd", mode: 0o120777 }])),
  file("a.zip", "a member twice", ["archive_unsafe"], () => writeZip([member, member])),
  file("a.zip", "an encrypted member", ["archive_unsafe"], () => writeZip([{ ...member, isEncrypted: true }])),
  file("a.zip", "members that share bytes", ["archive_unsafe"], () =>
    writeZip([
      { ...member, data: "x".repeat(9_999) },
      { name: "b.txt", data: "x".repeat(9_999), sharesBytes: true },
    ]),
  ),
  file("a.zip", "a wrong size", ["corrupt"], () =>
    writeZip([{ name: "a.txt", data: "x".repeat(100_000), claimedSize: 10 }]),
  ),
  file("a.zip", "the beginning of a zip", ["corrupt"], text("PK\x03\x04 and nothing more")),
];

/** What takes memory, time or disk, goes deep, or has no text: the child and its limits are what is proved. */
export const HEAVY_FILES: readonly HostileFile[] = [
  file("a.pdf", "an empty pdf", ["empty_document"], text("")),
  file("a.pdf", "a pdf cut in the middle", ["corrupt", "empty_document", "no_text", "read"], () =>
    fixture("libreoffice-report.pdf").subarray(0, 30_000),
  ),
  file("a.pdf", "a pdf whose pages lead to themselves", ["corrupt", "empty_document", "no_text"], () =>
    Buffer.from(
      pdf(Buffer.from("")).toString("latin1").replace("/Kids[3 0 R]/Count 1", "/Kids[2 0 R]/Count 9"),
      "latin1",
    ),
  ),
  file("a.pdf", "a pdf that declares a billion pages", ["corrupt", "too_many_pages", "no_text"], () =>
    Buffer.from(pdf(Buffer.from("")).toString("latin1").replace("/Count 1", "/Count 999999999"), "latin1"),
  ),
  file(
    "a.pdf",
    "a pdf whose content unpacks to 400 MB",
    ["parser_memory", "parser_timeout", "corrupt", "no_text"],
    () => pdf(Buffer.alloc(400 * MIB, "\n")),
  ),
  file("a.pdf", "a pdf with two million texts on a page", ["read", "parser_memory", "parser_timeout"], () =>
    pdf(Buffer.from(`BT /F1 9 Tf ${"1 0 Td (ab) Tj ".repeat(2_000_000)} ET`)),
  ),
  file("a.docx", "a docx with 20 000 tables in one another", ["too_deep"], () =>
    docx(wordBody(`${"<w:tbl><w:tr><w:tc>".repeat(20_000)}${PARAGRAPH}${"</w:tc></w:tr></w:tbl>".repeat(20_000)}`)),
  ),
  file("a.docx", "a docx that unpacks to 600 times its size", ["archive_limit"], () =>
    docx(Buffer.alloc(30 * MIB, " ")),
  ),
  file("a.docx", "a docx with 60 000 paragraphs", ["read", "parser_memory", "parser_timeout"], () =>
    docx(
      wordBody(
        Array.from({ length: 60_000 }, (_, index) => PARAGRAPH.replace("text", `text ${index * 7_919}`)).join(""),
      ),
    ),
  ),
  file("a.docx", "a docx without paragraphs", ["empty_document"], () => docx(wordBody(""))),
  file("a.pptx", "a pptx without slides", ["empty_document", "corrupt"], () =>
    writeZip([{ name: "ppt/presentation.xml", data: "<p:presentation/>" }]),
  ),
  file("a.pptx", "a pptx whose slides lead out of it", ["empty_document"], () =>
    writeZip([
      { name: "ppt/presentation.xml", data: '<p:presentation><p:sldId r:id="r1"/></p:presentation>' },
      {
        name: "ppt/_rels/presentation.xml.rels",
        data: '<Relationships><Relationship Id="r1" Target="../../../etc/passwd"/></Relationships>',
      },
    ]),
  ),
  file("a.xlsx", "20 000 rows", ["read"], () =>
    sheet(Array.from({ length: 20_000 }, (_, row) => [row, `row ${row}`, row * 2])),
  ),
  file("a.xlsx", "an xlsx that unpacks to much", ["archive_limit"], () =>
    writeZip([
      { name: "xl/workbook.xml", data: "<a/>" },
      { name: "xl/sharedStrings.xml", data: Buffer.alloc(30 * MIB, "a") },
    ]),
  ),
  file(
    "a.csv",
    "a csv of one row of 3 000 000 columns",
    ["read", "parser_memory", "parser_timeout", "output_limit", "empty_document"],
    text("a,".repeat(3_000_000)),
  ),
  file("a.html", "200 000 elements in one another", ["too_deep"], text("<div>".repeat(200_000))),
  file(
    "a.html",
    "200 000 comments that do not end",
    ["read", "empty_document"],
    text(`<p>x</p>${"<!--".repeat(200_000)}`),
  ),
  file(
    "a.html",
    "a million paragraphs without an end",
    ["read", "parser_memory", "parser_timeout"],
    text("<p>x".repeat(300_000)),
  ),
  file("a.html", "only a script", ["empty_document"], text("<html><script>alert(1)</script></html>")),
  file("a.json", "a million brackets", ["too_deep"], text("[".repeat(1_000_000))),
  file("a.txt", "more text than an answer may have", ["output_limit"], () =>
    Buffer.alloc(10 * MIB, `${"all work and no play ".repeat(10)}\n`),
  ),
  file("a.txt", "one line of 5 MB", ["read"], () => Buffer.alloc(5 * MIB, "abcdefghij")),
  file("a.txt", "zeros alone", ["empty_document"], () => Buffer.alloc(100_000)),
  file("a.txt", "blanks alone", ["empty_document"], text(" \n\t\r\n\u3000\ufeff\n".repeat(1_000))),
  file("a.md", "a page mark alone", ["empty_document"], text("<!-- page 1 -->\n")),
  file("a.zip", "a member that declares 130 MB", ["archive_limit"], () =>
    writeZip([{ name: "a.txt", data: Buffer.alloc(130 * MIB) }]),
  ),
  file("a.zip", "300 members of 1 MB", ["archive_limit"], () => {
    const data = Buffer.alloc(MIB, "some words ");
    return writeZip(Array.from({ length: 300 }, (_, index) => ({ name: `${index}.txt`, data })));
  }),
  file("a.zip", "10 001 members", ["archive_limit"], () =>
    writeZip(Array.from({ length: 10_001 }, (_, index) => ({ name: `${index}.txt`, data: "x" }))),
  ),
  file("a.zip", "archives in archives", ["empty_document"], () => {
    let inner = writeZip([member]);
    for (let depth = 0; depth < 20; depth += 1) inner = writeZip([{ name: "inner.zip", data: inner }]);
    return inner;
  }),
  file("a.zip", "no members", ["empty_document"], () => writeZip([])),
];
