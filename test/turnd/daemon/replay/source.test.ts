import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { execa } from "execa";
import { expect, onTestFinished, test, vi } from "vitest";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { exportRecording } from "../../../../src/turnd/daemon/replay/export.ts";
import { openSource } from "./open-source.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

/** As uid 1000, who owns the directory around it: puts a link to the target in the place of the only one there. */
const SWAP = `my ($place, $target) = @ARGV;
my ($made) = glob "$place/turnd-replay-*";
rename($made, "$place/gone") && symlink($target, $made) or die "swap: $!\\n";`;

test.runIf(process.getuid?.() === 0)(
  "who owns TMPDIR and swaps the directory of a document that is read has root write and remove nothing elsewhere",
  async () => {
    const base = temporaryDirectory(onTestFinished);
    const place = userDirectory(join(base, "place"));
    const target = join(base, "target");
    // What is written and removed by its name would be found here.
    mkdirSync(join(target, "stdin"), { recursive: true, mode: 0o700 });
    writeFileSync(join(target, "stdin/turn.json"), "root's");
    vi.stubEnv("TMPDIR", place);
    onTestFinished(() => void vi.unstubAllEnvs());
    const document: string[] = [];
    const recording = join(REPOSITORY, "fixtures/cli-b/0.139.0/shell-succeeds");
    for await (const piece of exportRecording(recording, (text) => text)) document.push(piece);
    const text = document.join("");

    const stdin = new PassThrough();
    const opening = openSource("-", stdin);
    stdin.write(text.slice(0, text.length / 2));
    // Held by then: before that, a swap is refused.
    await waitFor("its directory", () => {
      const made = readdirSync(place).find((name) => name.startsWith("turnd-replay-"));
      return made !== undefined && readdirSync(join(place, made)).includes("stdin");
    });
    const [file = "", ...args] = asUser(CLI_USER, ["/usr/bin/perl", "-e", SWAP, place, target]);
    await execa(file, args, { cwd: "/" });
    stdin.end(text.slice(text.length / 2));
    const source = await opening;
    expect(readFileSync(join(source.recording.directory, "stdout.jsonl"), "utf8")).toBe(
      readFileSync(join(recording, "stdout.jsonl"), "utf8"),
    );
    // A link is put there: its name stays, and is reported.
    await expect(source.close()).rejects.toThrow("ENOTDIR");
    expect(readdirSync(join(place, "gone"))).toEqual([]);
    expect(readdirSync(join(target, "stdin"))).toEqual(["turn.json"]);
    expect(readFileSync(join(target, "stdin/turn.json"), "utf8")).toBe("root's");
  },
);

test("archives in archives are unpacked to a depth, and refused beyond it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const recording = join(REPOSITORY, "fixtures/cli-b/0.139.0/shell-succeeds");
  await execa("tar", ["-C", recording, "-cf", join(directory, "0.tar"), "."]);
  for (let depth = 1; depth <= 4; depth += 1) {
    const outer = join(directory, `${depth}.tar`);
    await execa("tar", ["-C", directory, "-cf", outer, `${depth - 1}.tar`]);
    const opening = openSource(outer, new PassThrough());
    if (depth < 4) await (await opening).close();
    else await expect(opening).rejects.toThrow("is an archive in 4 others: unpack them first");
  }
});
