import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { execa } from "execa";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM } from "../../harness/browser.ts";
import { logIn, shareInspector } from "../../harness/inspector-stage.ts";
import { exportText } from "../../harness/recordings.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

const RECORDED = join(REPOSITORY, "fixtures/cli-b/0.139.0/rate-limited");

/** Packs files below a directory. @param how - of Python's zipfile, such as one more statement over `archive` */
async function zip(directory: string, name: string, paths: readonly string[], how = ""): Promise<string> {
  const program = `
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sys.argv[2:]:
        archive.write(path)
        for root, _, files in os.walk(path):
            for file in files: archive.write(os.path.join(root, file))
${how.replaceAll(/^/gm, "    ")}`;
  await execa("python3", ["-c", program, name, ...paths], { cwd: directory });
  return join(directory, name);
}

/** Calls with the place of every entry in an archive's table of contents. */
function eachEntry(archive: Buffer, change: (at: number) => void): void {
  for (let at = archive.indexOf("PK\u0001\u0002"); at !== -1; at = archive.indexOf("PK\u0001\u0002", at + 1))
    change(at);
}

/** Drops files or directories of this machine on the middle of a page, as a hand does. */
async function drop(page: Page, ...files: string[]): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const at = { x: 500, y: 400, data: { items: [], files, dragOperationsMask: 1 } };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await devtools.send("Input.dispatchDragEvent", { type, ...at });
  }
}

describe.skipIf(!HAS_CHROMIUM)("a recording of the reader's disk", { timeout: 180_000 }, () => {
  const stage = shareInspector();

  test("is replayed when it is dropped anywhere: a directory, a document, output alone, archives", async () => {
    const made = temporaryDirectory(onTestFinished);
    const directory = join(made, "rate-limited");
    cpSync(RECORDED, directory, { recursive: true });
    writeFileSync(join(made, "document.json"), await exportText(RECORDED));
    cpSync(join(RECORDED, "stdout.jsonl"), join(made, "mailed.jsonl"));
    writeFileSync(join(made, "mailed.jsonl.gz"), gzipSync(await exportText(RECORDED)));
    await execa("tar", ["-C", made, "-czf", join(made, "recording.tgz"), "rate-limited"]);
    // As a person packs a directory, and a CLI's output alone, for a mail.
    await zip(made, "recording.zip", ["rate-limited"]);
    await zip(made, "mailed.zip", ["mailed.jsonl"]);
    const { page, picture } = await stage().open();
    await logIn(page);
    const archives = ["mailed.jsonl.gz", "recording.tgz", "recording.zip", "mailed.zip"];
    for (const name of ["rate-limited", "document.json", "mailed.jsonl", ...archives]) {
      const before = page.url();
      await drop(page, join(made, name));
      await expect.poll(() => page.url(), { timeout: 30_000 }).not.toBe(before);
      await page.locator(".turn-header .status.failed").waitFor();
      await page.locator(".turn-header .pill.bad", { hasText: "rate_limited" }).waitFor();
      expect(await page.getByRole("dialog").count()).toBe(0);
    }
    await picture("inspector-dropped");
  });

  test("that is none is refused with what is wrong, and the page stays", async () => {
    const made = temporaryDirectory(onTestFinished);
    const put = (name: string, content: string | Buffer): string => {
      writeFileSync(join(made, name), content);
      return join(made, name);
    };
    for (const name of ["one", "two"]) {
      mkdirSync(join(made, "both", name), { recursive: true });
      cpSync(RECORDED, join(made, "both", name), { recursive: true });
    }
    const { page, picture } = await stage().open();
    await logIn(page);
    const cases = [
      [put("notes.txt", "Dear reader\n"), "notes.txt is neither a recording nor a CLI's output"],
      [put("other.jsonl", '{"hello":"world"}\n'), "none of its first 1 lines is a record of cli-a or cli-b"],
      [put("cut.tgz", gzipSync("x".repeat(100_000)).subarray(0, 60)), "cut.tgz is broken: it cannot be decompressed"],
      [put("wrong.json", '{"v":1,"turn":{},"stdout":[]}'), "wrong.json is no recording: turn.executor"],
      [join(made, "both"), "these are 2 recordings: open one at a time"],
    ] as const;
    for (const [path, message] of cases) {
      await drop(page, path);
      await page.getByRole("dialog", { name: "Open a recording" }).getByText(message).waitFor();
    }
    await picture("inspector-recording-refused");
    // Where the output shows no CLI, the reader says it.
    await page.locator("#recording-executor").selectOption("cli-b");
    await page.locator("#recording").setInputFiles(join(made, "other.jsonl"));
    await page.locator(".turn-header .status.failed").waitFor();
  });

  test("that is a bad zip is refused with what is wrong, before it has taken the page's memory", async () => {
    const made = temporaryDirectory(onTestFinished);
    cpSync(RECORDED, join(made, "rate-limited"), { recursive: true });
    const good = readFileSync(await zip(made, "good.zip", ["rate-limited"]));
    const put = (name: string, content: Buffer): string => {
      writeFileSync(join(made, name), content);
      return join(made, name);
    };
    const changed = (change: (bytes: Buffer) => void): Buffer => {
      const bytes = Buffer.from(good);
      change(bytes);
      return bytes;
    };
    const central = good.indexOf(Buffer.from("PK\u0001\u0002"));
    const bomb = await zip(
      made,
      "bomb.zip",
      [],
      `for index in range(3): archive.writestr(f"{index}/stdout.jsonl", bytes(104857600))`,
    );
    // It says that there is one byte in each.
    const lying = readFileSync(bomb);
    eachEntry(lying, (at) => lying.writeUInt32LE(1, at + 24));
    const { page, picture } = await stage().open();
    await logIn(page);
    const cases = [
      [bomb, "bomb.zip has more than 256 MiB: replay it with `turnd replay`"],
      [put("lying.zip", lying), "lying.zip is a broken zip archive"],
      [
        await zip(made, "many.zip", [], `for index in range(1001): archive.writestr(f"{index}", b"")`),
        "many.zip has more than 1000 entries",
      ],
      [put("cut.zip", good.subarray(0, good.length - 30)), "cut.zip is a broken zip archive"],
      [
        put(
          "flipped.zip",
          changed((bytes) => (bytes[central - 10] = (bytes[central - 10] ?? 0) ^ 0xff)),
        ),
        "flipped.zip is a broken zip archive",
      ],
      [
        put(
          "encrypted.zip",
          changed((bytes) => eachEntry(bytes, (at) => bytes.writeUInt16LE(1, at + 8))),
        ),
        "is encrypted: unpack it first",
      ],
      [
        await zip(made, "escape.zip", [], `archive.writestr("../turn.json", b"{}")`),
        "escape.zip is a broken zip archive",
      ],
      [await zip(made, "empty.zip", []), "there is no file in what was given"],
      [
        await zip(made, "notes.zip", [], `archive.writestr("notes.txt", b"Dear reader")`),
        "notes.txt is neither a recording nor a CLI's output",
      ],
    ] as const;
    for (const [path, message] of cases) {
      await drop(page, path);
      await page.getByRole("dialog", { name: "Open a recording" }).getByText(message).waitFor();
    }
    await picture("inspector-zip-refused");
  });

  test("that is output alone is judged by its records, and not by an end that nobody saw", async () => {
    const made = temporaryDirectory(onTestFinished);
    const lines = [
      { type: "thread.started", thread_id: "01a1fd18-d697-76b1-820a-00002ff5dd89" },
      { type: "turn.started" },
      { type: "item.completed", item: { id: "item_0", type: "agent_message", text: "all done" } },
      { type: "turn.completed", usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } },
    ].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(made, "whole.jsonl"), lines.join(""));
    writeFileSync(join(made, "cut.jsonl"), lines.slice(0, 3).join(""));
    const { page } = await stage().open();
    await logIn(page);
    await drop(page, join(made, "whole.jsonl"));
    await page.locator(".turn-header .status.completed").waitFor();
    await drop(page, join(made, "cut.jsonl"));
    await page.locator(".turn-header .pill.bad", { hasText: "unknown" }).waitFor();
    await page.keyboard.press("3");
    await page.getByText("how the process ended was not recorded").first().waitFor();
  });

  test("is played by the time of the recording", async () => {
    const turnId = await stage().run({ input: "paced 4 0.5", session_id: "session-paced" });
    const made = temporaryDirectory(onTestFinished);
    // As an operator copies it from the state of another machine.
    cpSync(join(stage().turnd.state, "sessions/session-paced/turns", turnId), join(made, "copied"), {
      recursive: true,
    });
    const { page, picture } = await stage().open();
    await logIn(page);
    await drop(page, join(made, "copied"));
    await page.locator(".turn-header", { hasText: "replay" }).waitFor();
    const rows = (): Promise<number> => page.locator(".event").count();
    await page.getByText("complete history").waitFor();
    const all = await rows();
    await page.locator(".timeline output", { hasText: /\/ 2\.\d s/ }).waitFor();
    const slider = page.getByRole("slider", { name: "Time of the turn" });
    await page.getByRole("combobox", { name: "Speed" }).selectOption("1");
    await slider.focus();
    await page.keyboard.press("Home");
    await expect.poll(rows).toBeLessThan(all);
    // Some of the paced messages have come after half of the time, and some have not.
    const [max, step] = [await slider.getAttribute("max"), await slider.getAttribute("step")].map(Number);
    await slider.fill(String(Math.round((max ?? 0) / 2 / (step ?? 1)) * (step ?? 1)));
    const messages = (): Promise<number> => page.locator(".event.speech").count();
    await expect.poll(async () => [1, 2, 3].includes(await messages())).toBe(true);
    await picture("inspector-slider");
    await page.getByRole("combobox", { name: "Speed" }).selectOption("64");
    await page.getByRole("button", { name: "Play" }).click();
    await expect.poll(rows, { timeout: 60_000 }).toBe(all);
    await page.getByRole("button", { name: "Play" }).waitFor();
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/^(.+) of \1$/);
  });
});
