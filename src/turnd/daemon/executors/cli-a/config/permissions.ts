import { defined } from "../../../../../kit/defined.ts";
import type { Mode, Permissions } from "../../../../protocol/index.ts";
import { CliAConfig } from "./details.ts";

/** A permission as the CLI writes it: one action, or actions by pattern. The last rule that matches wins. */
type Rule = unknown;

/** What the CLI would ask for without an entry in the configuration, decided. Source: docs/contracts/cli-a.md §7. */
const DECIDED: Readonly<Record<string, Rule>> = {
  external_directory: { "*": "deny" },
  doom_loop: "deny",
  question: "deny",
  read: { "*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow" },
};

/** What a person is asked before, where one is; questions of the model's are answered then. */
const ASKED: Readonly<Record<string, Rule>> = {
  bash: "ask",
  edit: "ask",
  webfetch: "ask",
  websearch: "ask",
  codesearch: "ask",
  external_directory: { "*": "ask" },
  question: "allow",
};

/** The permissions behind what a session may be denied. CLI A has no sandbox: what commands could do goes with them. */
const DENIED: Readonly<Record<Exclude<keyof Permissions, "approval">, readonly string[]>> = {
  edit: ["edit", "bash"],
  execute: ["bash"],
  network: ["webfetch", "websearch", "codesearch", "bash"],
};
/** Old names of the same things in `tools`, which would otherwise come back as permissions. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  edit: ["edit", "write", "patch", "multiedit", "apply_patch"],
};

/** Everything allowed but what the CLI would ask for. */
export const RENDERED_PERMISSION: CliAConfig = { "*": "allow", ...DECIDED };

/** Permissions of a configuration that stand on `ask`, as dotted paths. */
export function listAsks(config: CliAConfig): string[] {
  return [
    ...asksOf(config["permission"], "permission"),
    ...agentsOf(config).flatMap(({ group, name, agent }) => asksOf(agent["permission"], `${group}.${name}.permission`)),
  ];
}

/**
 * Makes a configuration fit for a run that no person watches: nothing asks, and the session's denials come last.
 *
 * An `ask` in the top session ends the run, in a subagent it hangs for ever. Source: docs/contracts/cli-a.md §0, §7.
 */
export function tightenConfig(config: CliAConfig, permissions: Permissions, mode: Mode): CliAConfig {
  const denied = listDenied(permissions, mode);
  const agents = agentsOf(config).reduce<CliAConfig>(
    (groups, { group, name, agent }) => ({
      ...groups,
      [group]: { ...CliAConfig.parse(groups[group] ?? config[group]), [name]: tightenAgent(agent, denied) },
    }),
    {},
  );
  return {
    ...config,
    ...agents,
    ...dropTools(config, denied),
    permission: deny(ask(decide(withoutAsks(config["permission"])), permissions), denied),
  };
}

/** The CLI's permissions that a turn does not have. */
export function listDenied(permissions: Permissions, mode: Mode): string[] {
  // The `plan` agent stops edits but not commands that write, and a configuration that allows all overrides even that.
  const edit = mode === "execute" ? permissions.edit : "deny";
  const keys = Object.entries({ ...permissions, ...defined({ edit }) })
    .filter(([, action]) => action === "deny")
    .flatMap(([key]) => (isPermission(key) ? DENIED[key] : []));
  return [...new Set(keys)];
}

function isPermission(key: string): key is keyof typeof DENIED {
  return Object.hasOwn(DENIED, key);
}

/** Puts the decisions before the rules given, which go on to win. */
function decide(given: Rule): CliAConfig {
  const rules = toRules(given);
  // A rule for everything is the operator's answer to what the CLI would ask for too.
  if (Object.hasOwn(rules, "*")) return rules;
  const decided = Object.entries(DECIDED).map(([key, rule]): [string, Rule] => {
    const own = rules[key];
    return [key, isTable(own) && isTable(rule) ? { ...rule, ...own } : (own ?? rule)];
  });
  return { ...Object.fromEntries(decided), ...without(rules, Object.keys(DECIDED)) };
}

/** Where a person is asked, the configuration is made of turnd's variables, and has no rules of an operator's. */
function ask(rules: CliAConfig, { approval }: Permissions): CliAConfig {
  return approval === "ask" ? { ...without(rules, Object.keys(ASKED)), ...ASKED } : rules;
}

function deny(rules: CliAConfig, denied: readonly string[]): CliAConfig {
  return { ...without(rules, denied), ...Object.fromEntries(denied.map((key) => [key, "deny"])) };
}

function tightenAgent(agent: CliAConfig, denied: readonly string[]): CliAConfig {
  const isPlain = agent["permission"] === undefined && agent["tools"] === undefined;
  if (isPlain) return agent;
  const rules = toRules(withoutAsks(agent["permission"]));
  return { ...agent, ...dropTools(agent, denied), permission: deny(rules, denied) };
}

/** `tools` is the older form of `permission`, and is turned into rules that come first or last by turns. */
function dropTools(config: CliAConfig, denied: readonly string[]): CliAConfig {
  const { tools } = config;
  if (!isTable(tools)) return {};
  return {
    tools: without(
      tools,
      denied.flatMap((key) => TOOLS[key] ?? [key]),
    ),
  };
}

function toRules(rule: Rule): CliAConfig {
  if (isTable(rule)) return rule;
  return rule === undefined ? {} : { "*": rule };
}

function withoutAsks(rule: Rule): Rule {
  if (rule === "ask") return "deny";
  if (!isTable(rule)) return rule;
  return Object.fromEntries(Object.entries(rule).map(([key, inner]) => [key, withoutAsks(inner)]));
}

function asksOf(rule: Rule, path: string): string[] {
  if (rule === "ask") return [path];
  return isTable(rule) ? Object.entries(rule).flatMap(([key, inner]) => asksOf(inner, `${path}.${key}`)) : [];
}

function agentsOf(config: CliAConfig): { group: string; name: string; agent: CliAConfig }[] {
  return ["agent", "mode"].flatMap((group) => {
    const agents = config[group];
    if (!isTable(agents)) return [];
    return Object.entries(agents).flatMap(([name, agent]) => (isTable(agent) ? [{ group, name, agent }] : []));
  });
}

function without(table: CliAConfig, keys: readonly string[]): CliAConfig {
  return Object.fromEntries(Object.entries(table).filter(([key]) => !keys.includes(key)));
}

function isTable(value: unknown): value is CliAConfig {
  return CliAConfig.safeParse(value).success;
}
