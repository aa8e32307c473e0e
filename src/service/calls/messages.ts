import { z } from "zod";
import { ApiProblem } from "../api/problems.ts";
import type { AgentCallBody } from "../api/calls.ts";
import { assertImagesFit, readImage } from "../runs/images.ts";
import type { RequestInput } from "../runs/rows.ts";
import { MAX_INPUT_TEXT_BYTES } from "../../protocol/index.ts";

// Other fields of a part, such as `detail`, are ignored.
const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const ImagePart = z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) });
const Part = z.discriminatedUnion("type", [TextPart, ImagePart]);

/** What the last user message says; texts are joined by a newline. @throws {ApiProblem} */
export function readMessages(messages: AgentCallBody["messages"]): RequestInput {
  const index = messages.findLastIndex(({ role }) => role === "user");
  const content = messages[index]?.content;
  if (index === -1) throw new ApiProblem("no_user_message", "messages need one of role user");
  const texts: string[] = [];
  const images: string[] = [];
  for (const [position, part] of (typeof content === "string"
    ? [{ type: "text", text: content }]
    : (content ?? [])
  ).entries()) {
    const parsed = Part.safeParse(part);
    if (!parsed.success) {
      const where = `messages[${index}].content[${position}]`;
      throw new ApiProblem(
        "content_part_unsupported",
        `${where}: parts are {type:"text", text} and {type:"image_url", image_url:{url}}`,
      );
    }
    if (parsed.data.type === "text") texts.push(parsed.data.text);
    else images.push(readDataUrl(parsed.data.image_url.url));
  }
  const query = texts.join("\n");
  assertImagesFit(images);
  if (query.trim() === "" && images.length === 0)
    throw new ApiProblem("query_required", "the last user message is empty");
  if (Buffer.byteLength(query) > MAX_INPUT_TEXT_BYTES) {
    throw new ApiProblem("content_part_unsupported", `at most ${MAX_INPUT_TEXT_BYTES} bytes of text`);
  }
  return { query, images };
}

/** Images come with the call: the service fetches nothing that a caller names. */
function readDataUrl(url: string): string {
  if (!/^data:image\/[a-z+.-]+;base64,/i.test(url)) {
    throw new ApiProblem("content_part_unsupported", "image_url.url has to be a base64 data URL of an image");
  }
  return readImage(url);
}
