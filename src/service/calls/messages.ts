import { z } from "zod";
import { InputProblem, type FieldError } from "../protocol/problems.ts";
import type { AgentCallBody } from "../protocol/calls.ts";
import { assertImagesFit, readImage } from "../runs/submit/images.ts";
import type { RequestInput } from "../runs/state/rows.ts";
import { MAX_INPUT_TEXT_BYTES } from "../../turnd/protocol/index.ts";

// Other fields of a part, such as `detail`, are ignored.
const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const ImagePart = z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) });
const Part = z.discriminatedUnion("type", [TextPart, ImagePart]);
type Part = z.infer<typeof Part>;

/** The text of the last user message; parts are joined by a newline. @throws {InputProblem} */
export function readMessages(messages: AgentCallBody["messages"]): RequestInput {
  const parsed = messages.map(({ content }, index) => readParts(content, ["body", "messages", index, "content"]));
  const index = messages.findLastIndex(({ role }) => role === "user");
  const loc = ["body", "messages", index, "content"];
  if (index === -1) throw new InputProblem("no_user_message", ["body", "messages"], "messages need one of role user");
  const texts: string[] = [];
  const images: string[] = [];
  for (const [position, part] of (parsed[index] ?? []).entries()) {
    if (part.type === "text") texts.push(part.text);
    else images.push(readDataUrl(part.image_url.url, [...loc, position, "image_url", "url"]));
  }
  const query = texts.join("\n");
  assertImagesFit(images, loc);
  if (query.trim() === "" && images.length === 0)
    throw new InputProblem("query_required", loc, "the last user message is empty");
  if (Buffer.byteLength(query) > MAX_INPUT_TEXT_BYTES) {
    throw new InputProblem("content_part_unsupported", loc, `at most ${MAX_INPUT_TEXT_BYTES} bytes of text`);
  }
  return { query, images };
}

/** The parts of a message, of the last one as of those before it. */
function readParts(content: AgentCallBody["messages"][number]["content"], loc: FieldError["loc"]): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (content ?? []).map((part, position) => {
    const { data } = Part.safeParse(part);
    if (data !== undefined) return data;
    throw new InputProblem(
      "content_part_unsupported",
      [...loc, position],
      'parts are {type:"text", text} and {type:"image_url", image_url:{url}}',
    );
  });
}

/** Images come with the call: the service fetches nothing that a caller names. */
function readDataUrl(url: string, loc: FieldError["loc"]): string {
  if (!/^data:image\/[a-z+.-]+;base64,/i.test(url)) {
    throw new InputProblem("content_part_unsupported", loc, "image_url.url has to be a base64 data URL of an image");
  }
  return readImage(url, loc);
}
