import { addModel, type CliAConfig } from "./details.ts";
import { RENDERED_PERMISSION } from "./permissions.ts";
import { NEW_CONNECTION, QUIET } from "./unasked.ts";

/** The values a configuration is rendered from. */
export interface RenderedSettings {
  readonly provider: string;
  /** Without the provider. */
  readonly model: string;
  readonly baseUrl: string;
  readonly npm: string;
  readonly apiKey: string;
}

/** The longest a whole request to the model may take. */
const REQUEST_TIMEOUT_MS = 300_000;
/** The longest pause within an answer; the CLI has no limit of its own. Source: docs/contracts/cli-a.md §5. */
const CHUNK_TIMEOUT_MS = 120_000;

/** Builds the configuration of one provider and one model, which also writes titles. */
export function buildConfig({ provider, model, baseUrl, npm, apiKey }: RenderedSettings): CliAConfig {
  const fullModel = `${provider}/${model}`;
  const config = {
    $schema: "https://opencode.ai/config.json",
    model: fullModel,
    small_model: fullModel,
    // Without this the CLI also offers a hosted provider of its own. Source: docs/contracts/cli-a.md §4.
    enabled_providers: [provider],
    ...QUIET,
    provider: {
      [provider]: {
        npm,
        name: provider,
        options: {
          baseURL: baseUrl,
          apiKey,
          timeout: REQUEST_TIMEOUT_MS,
          chunkTimeout: CHUNK_TIMEOUT_MS,
          headers: NEW_CONNECTION,
        },
        models: {},
      },
    },
    permission: RENDERED_PERMISSION,
  };
  return addModel(config, fullModel);
}

/** The file's text. */
export function renderConfig(config: CliAConfig): string {
  return `${JSON.stringify(config, null, 2)}\n`;
}
