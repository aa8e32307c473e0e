import { wholeFile } from "../cli-b.ts";
import { DONE } from "../reply.ts";
import { fails, only, type Scene } from "../scene.ts";
import { early, more, OR_CONFIG, swap, wrong } from "./parts.ts";

const lab = (more_: object) => ({ config: { provider: { lab: more_ } } });

/** Configurations that a CLI cannot read, or that name what is not there. */
export const CONFIGURATION: readonly Scene[] = [
  ...only(
    "cli-a",
    wrong("unknown-model", "model_not_found", "no such model is configured", { args: more("--model=lab/nope") }),
    wrong("unknown-model-near-miss", "model_not_found", "a name with a letter missing", {
      ...OR_CONFIG,
      ...lab({ models: { "gpt-5.4-mini": {} } }),
      args: more("--model=lab/gpt-5.4-mni"),
    }),
    wrong("unknown-model-configured", "model_not_found", "the configuration names a model that it does not list", {
      ...OR_CONFIG,
      config: { model: "lab/kimi-k9" },
    }),
    wrong("model-without-provider", "model_not_found", "only a model's name", {
      args: more("--model=gpt-5"),
      also: ["config_invalid", "invalid_request"],
    }),
    wrong("unknown-provider", "model_not_found", "no such provider is configured", {
      ...OR_CONFIG,
      args: more("--model=nobody/m"),
    }),
    wrong("provider-not-enabled", "model_not_found", "a provider that is not enabled", {
      ...OR_CONFIG,
      args: more("--model=openai/gpt-5"),
    }),
    wrong("config-not-json", "config_invalid", "the configuration is not JSON", {
      prepare: `echo '{"model": ' >$config`,
    }),
    wrong("config-commas", "config_invalid", "the configuration has a comma too many", {
      prepare: `echo '{"model": "lab/m",, "share": "disabled"}' >$config`,
    }),
    wrong("config-invalid", "config_invalid", "a value of the wrong type", { config: { share: 5 } }),
    wrong("config-invalid-model", "config_invalid", "the model is a number", { config: { model: 5 } }),
    wrong(
      "config-invalid-list",
      "config_invalid",
      "a list stands where the configuration has names",
      lab({ models: ["m"] }),
    ),
    wrong("config-invalid-providers", "config_invalid", "providers are a list", {
      config: { provider: [] },
      also: ["model_not_found"],
    }),
    wrong("config-invalid-permission", "config_invalid", "a permission that there is none of", {
      config: { permission: { bash: "sometimes" }, instructions: "RULES.md" },
    }),
    wrong("config-invalid-server", "config_invalid", "a server's command is one text, not a list", {
      config: { mcp: { lint: { type: "local", command: "npx lint-server" } } },
    }),
    wrong(
      "config-unreadable",
      "model_not_found",
      "the configuration cannot be read, so the CLI knows no such model; no line says why",
      { ...OR_CONFIG, args: more("--model=lab/m"), prepare: "chmod 0 $config" },
    ),
    // It is taken for no configuration.
    fails(
      "config-empty",
      "network_error",
      "the configuration is an empty file: the hosted provider is asked, out of reach",
      DONE,
      { prepare: ": >$config" },
    ),
    fails("provider-package-missing", "executor_unavailable", "the provider's package cannot be fetched", DONE, {
      ...OR_CONFIG,
      ...lab({ npm: "lab-nosuch-package" }),
    }),
  ),
  ...only(
    "cli-b",
    fails("key-variable-missing", "credential_missing", "the key's variable is not set", DONE, {
      env: { CLI_B_API_KEY: "" },
    }),
    fails("key-variable-other", "credential_missing", "the provider's key is in no variable", DONE, {
      toml: wholeFile().replace("LAB_KEY", "OPENROUTER_API_KEY"),
    }),
    fails("wire-api-chat", "executor_unavailable", "another wire protocol", DONE, {
      ...OR_CONFIG,
      prepare: `sed -i 's/wire_api.*/wire_api = "chat"/' $config`,
    }),
    wrong("config-not-toml", "config_invalid", "config.toml is none", { prepare: "echo '[model' >$config" }),
    wrong("config-cut", "config_invalid", "a string of config.toml does not end", {
      prepare: `printf '\\nnote = "never closed\\n' >>$config`,
    }),
    wrong("config-no-text", "config_invalid", "config.toml is not UTF-8", {
      prepare: `printf 'model = "\\377"\\n' >$config`,
    }),
    wrong("config-key-twice", "config_invalid", "a key stands twice in config.toml", {
      prepare: `printf 'model = "a"\\nmodel = "b"\\n' >$config`,
    }),
    wrong("config-wrong-type", "config_invalid", "a key has another type", { prepare: "echo 'model = 7' >$config" }),
    wrong("config-list", "config_invalid", "model_providers is a list", {
      prepare: "echo 'model_providers = [1]' >$config",
    }),
    wrong("config-number-in-words", "config_invalid", "a number of retries is written in words", {
      toml: wholeFile(),
      prepare: `sed -i 's/^stream_max_retries = .*/stream_max_retries = "many"/' $config`,
    }),
    wrong("config-unknown-value", "config_invalid", "a sandbox mode that there is none of", {
      prepare: `echo 'sandbox_mode = "none"' >$config`,
      args: (args) => args.filter((word) => !word.includes("sandbox")),
    }),
    wrong("config-unknown-key", "config_invalid", "a key that this version does not know, under --strict-config", {
      args: early("-c", "features.no_such_feature=false"),
    }),
    wrong("config-old-profile", "config_invalid", "-p names a profile that stands in config.toml", {
      prepare: `printf '\\n[profiles.quick]\\nmodel = "m2"\\n' >>$config`,
      args: early("-p", "quick"),
    }),
    wrong("config-server-of-nothing", "config_invalid", "an MCP server has neither a command nor an address", {
      prepare: `printf '\\n[mcp_servers.empty]\\nenabled = true\\n' >>$config`,
    }),
    wrong("required-mcp-server-fails", "config_invalid", "a required server does not start", {
      toml: wholeFile('[mcp_servers.gone]\ncommand = "/nonexistent"\nrequired = true'),
    }),
    wrong("config-of-another", "config_invalid", "config.toml belongs to another user", {
      prepareAsRoot: "chown 0:0 $config; chmod 600 $config",
      also: ["storage_error"],
    }),
    wrong("unknown-provider", "config_invalid", "the provider is not defined", {
      args: early("-c", 'model_provider="nope"'),
    }),
    wrong("override-malformed", "config_invalid", "-c without a value", { args: early("-c", "model") }),
    wrong("override-wrong-type", "config_invalid", "-c gives a list where a word is due", {
      args: early("-c", "model=[1]"),
      also: ["invalid_request"],
    }),
    wrong("setting-gone", "config_invalid", "a value of the operator's that 0.169.0 has no more", {
      args: swap('approval_policy="never"', 'approval_policy="untrusted"'),
    }),
  ),
];
