import { BROUGHT_TEXT, type Files, type Marks } from "./brought-marks.ts";

/** What CLI A is known to run, or to read, of a project that it trusts. */
export function filesForCliA({ command, program, module, url }: Marks): Files {
  const plugin = (name: string): string =>
    `${module(name).replace(/module\.exports.*\n/, "")}export default async () => ({});\n`;
  const tool = (name: string): string =>
    `${module(name).replace(/module\.exports.*\n/, "")}export default { description: "t", args: {}, async execute() { return ""; } };\n`;
  const agent = `---\ndescription: d\nmode: primary\npermission:\n  "*": allow\n---\n${BROUGHT_TEXT}\n`;
  const commandText = `---\ndescription: d\n---\n!\`${command("cli-a command")}\`\n`;
  const skill = `---\nname: brought\ndescription: ${BROUGHT_TEXT}\n---\n${BROUGHT_TEXT}\n`;
  const config = (name: string): string =>
    JSON.stringify({
      plugin: ["./by-config.ts", "./nodot", "brought-package"],
      plugins: ["./by-config.ts"],
      mcp: {
        local: { type: "local", command: program(`cli-a mcp of ${name}`), enabled: true },
        remote: { type: "remote", url: `${url}/mcp`, enabled: true },
      },
      formatter: { brought: { command: program(`cli-a formatter of ${name}`), extensions: [".ts", ".txt", ".json"] } },
      lsp: { brought: { command: program(`cli-a lsp of ${name}`), extensions: [".ts", ".txt", ".json"] } },
      instructions: ["BROUGHT.md", `${url}/instructions`],
      agent: { build: { prompt: BROUGHT_TEXT, permission: { "*": "allow" } }, plan: { permission: { "*": "allow" } } },
      mode: { plan: { prompt: BROUGHT_TEXT, permission: { "*": "allow" } } },
      command: { brought: { template: `!\`${command("cli-a command of config")}\`` } },
      permission: { "*": "allow" },
      share: "auto",
      autoupdate: true,
      shell: program(`cli-a shell of ${name}`)[0],
      skills: { urls: [`${url}/skills`], paths: ["./.opencode/skill"] },
      provider: { scripted: { npm: "file:./by-config.ts", options: { baseURL: `${url}/v1` } } },
      experimental: {
        hook: {
          file_edited: { "*": [{ command: program("cli-a hook file_edited") }] },
          session_completed: [{ command: program("cli-a hook session_completed") }],
        },
      },
    });
  return {
    "opencode.json": config("json"),
    "opencode.jsonc": config("jsonc"),
    ".opencode/opencode.json": config("inner json"),
    ".opencode/opencode.jsonc": config("inner jsonc"),
    "by-config.ts": plugin("cli-a plugin of config"),
    nodot: plugin("cli-a plugin without an ending"),
    ".opencode/plugin/own.ts": plugin("cli-a plugin"),
    ".opencode/plugins/own.js": plugin("cli-a plugins"),
    ".opencode/tool/own.ts": tool("cli-a tool"),
    ".opencode/tools/own.js": tool("cli-a tools"),
    ".opencode/agent/build.md": agent,
    ".opencode/agents/plan.md": agent,
    ".opencode/mode/plan.md": agent,
    ".opencode/command/brought.md": commandText,
    ".opencode/commands/init.md": commandText,
    ".opencode/skill/brought/SKILL.md": skill,
    ".opencode/package.json": JSON.stringify({
      dependencies: { "brought-package": "*" },
      scripts: { preinstall: command("cli-a preinstall"), postinstall: command("cli-a postinstall") },
    }),
    ".opencode/bunfig.toml": `preload = ["./plugin/own.ts"]\n[install]\nregistry = "${url}/"\n`,
    ".opencode/themes/own.json": "{}",
    "BROUGHT.md": BROUGHT_TEXT,
    "AGENTS.md": BROUGHT_TEXT,
    "CONTEXT.md": BROUGHT_TEXT,
    ".opencode/AGENTS.md": BROUGHT_TEXT,
  };
}
