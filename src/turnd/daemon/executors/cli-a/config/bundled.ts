import type { Configuration } from "../../contract/configuration.ts";

/**
 * Provider packages inside the binary, of 1.14.34; 1.3.2 has all but the first and the last. Read from the binaries'
 * own tables. Any other is fetched from npm at every session's first turn, which ends in `ProviderInitError` after up
 * to 133 s where npm cannot be reached. Source: docs/contracts/cli-a.md §4.
 */
const BUNDLED: ReadonlySet<string> = new Set([
  "@ai-sdk/alibaba",
  "@ai-sdk/amazon-bedrock",
  "@ai-sdk/anthropic",
  "@ai-sdk/azure",
  "@ai-sdk/cerebras",
  "@ai-sdk/cohere",
  "@ai-sdk/deepinfra",
  "@ai-sdk/gateway",
  "@ai-sdk/github-copilot",
  "@ai-sdk/google",
  "@ai-sdk/google-vertex",
  "@ai-sdk/google-vertex/anthropic",
  "@ai-sdk/groq",
  "@ai-sdk/mistral",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/perplexity",
  "@ai-sdk/togetherai",
  "@ai-sdk/vercel",
  "@ai-sdk/xai",
  "@openrouter/ai-sdk-provider",
  "gitlab-ai-provider",
  "venice-ai-sdk-provider",
]);

/** Whether a provider's package is there without npm: inside the CLI, or a file. */
export function isBundled(npm: string): boolean {
  return BUNDLED.has(npm) || npm.startsWith("file://");
}

/** Why a turn with another package fails before a process starts. */
export function notBundled(variable: string, npm: string): NonNullable<Configuration["fault"]> {
  return {
    code: "executor_unavailable",
    message: `${variable}: the provider package ${npm} does not come with CLI A and would be fetched from npm; name one that does, such as @ai-sdk/openai-compatible.`,
  };
}
