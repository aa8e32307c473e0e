import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { write } from "../../../src/turnd/commands/write.ts";

const OF_OTHERS = '{"text":"a\u009b2Jb\u202ec\u2066d\u001b[2J"}\n\tend\n';

function outputOf(isTerminal: boolean) {
  const out = new PassThrough({ encoding: "utf8" });
  return isTerminal ? Object.assign(out, { isTTY: true }) : out;
}

test("text of others does not steer a terminal, and goes into files and pipes as it is", async () => {
  for (const given of [OF_OTHERS, Buffer.from(OF_OTHERS)]) {
    const [terminal, pipe] = [outputOf(true), outputOf(false)];
    await Promise.all([write(terminal, given), write(pipe, given)]);
    expect(terminal.read()).toBe('{"text":"a\\u009b2Jb\\u202ec\\u2066d\\u001b[2J"}\n\tend\n');
    expect(pipe.read()).toBe(OF_OTHERS);
  }
});
