import { describe, expect, test } from "vitest";
import { CLI_B, LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";

const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.each(LIGHT_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);

  test("an image reaches the provider", async () => {
    const { turnd, model } = stage();
    const input = [
      { type: "text", text: "What is this? @@text:A pixel.@@" },
      { type: "image", data_url: PIXEL },
    ];
    const result = await turnd.run({ executor: cli.executor, input });
    expect(result).toMatchObject({ status: "completed", output: "A pixel." });
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('"data:image/png;base64,');
  });
});

describe("cli-b", () => {
  const stage = shareStage(CLI_B);

  test("an output schema reaches the provider, and the answer comes as it is", async () => {
    const { turnd, model } = stage();
    const schema = {
      type: "object",
      properties: { word: { type: "string" } },
      required: ["word"],
      additionalProperties: false,
    };
    const input = '@@text:{"word":"plum"}@@';
    const result = await turnd.run({ executor: "cli-b", input, output_schema: schema });
    expect(result).toMatchObject({ status: "completed", output: '{"word":"plum"}' });
    expect(model.requests.at(-1)?.body).toMatchObject({ text: { format: { type: "json_schema", schema } } });
  });
});
