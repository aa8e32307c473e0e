import { describe, expect, test } from "vitest";
import { PROSE } from "../../../../src/turnd/daemon/executors/providers/answer-prose.ts";

/** Prose about each subject, and sentences about the form of a request or about something else that has its words. */
const SUBJECTS: Readonly<
  Record<keyof typeof PROSE, { readonly yes: readonly string[]; readonly no: readonly string[] }>
> = {
  quota: {
    yes: ["Wallet is empty.", "Invoice 2231 has not been paid.", "You owe 12.40 EUR.", "Remaining token quota: 0."],
    no: [
      "The result of tool 'get_balance' must not be an empty string.",
      "'expired' is not a valid value for field 'subscription_state'.",
      "Unknown parameter: 'credits'.",
      "tools[2] has a schema with a property credits",
    ],
  },
  content: {
    yes: ["Potential self-harm content detected.", "Image rejected: explicit material.", "NSFW input is not allowed."],
    no: [
      "safety_settings[0].threshold: value BLOCK_SOME is not allowed.",
      "'violence' is not a valid value for category.",
    ],
  },
  context: {
    yes: [
      "Message history of 412 entries totals 260123 tokens; the ceiling is 200000.",
      "n_tokens=9000 > n_ctx=8192",
      "Please start a new chat, this one has become too long.",
      "Input is 1203 tokens over the limit of this model.",
    ],
    no: [
      "Too many images in this prompt: 21, at most 20.",
      "max_completion_tokens is too large: 200000. This model supports at most 128000 completion tokens.",
      "Tokens per minute: limit 10000, used 10000.",
      "The name of this conversation is too long.",
    ],
  },
  model: {
    yes: [
      "Cannot find a provider for model m.",
      "The snapshot m-2024-05-13 isn't offered any more.",
      "m is not one of the models that this endpoint serves: a, b.",
      "stream disconnected before completion: This model is not offered in your region.",
    ],
    no: [
      "This model does not support image input.",
      "No output of the model was kept.",
      "The model is not available right now.",
      "Unsupported parameter: 'top_k' is not known to this model.",
      "The model's tools must not be empty.",
    ],
  },
  key: {
    yes: [
      "Header 'x-api-key' is empty.",
      "Authorization header must start with 'Bearer '",
      "This API key was rotated; use the newest one.",
    ],
    no: [
      "Duplicate key 'token' in metadata.",
      "Unexpected field api_key",
      "The key of a map is expected to be a string",
    ],
  },
};

describe.each(Object.entries(SUBJECTS))("prose about %s", (subject, { yes, no }) => {
  const pattern = PROSE[subject as keyof typeof PROSE];
  test.each(yes)("matches %j", (sentence) => expect(sentence).toMatch(pattern));
  test.each(no)("leaves %j alone", (sentence) => expect(sentence).not.toMatch(pattern));
});
