import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../../src/turnd/daemon/state-index/sqlite.ts";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { currentTurn, plainOutput } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { binaryOf, CLIS_B, KEY, shareStage, type Stage } from "../harness/real-daemon.ts";
import { CLI_USER, giveToUser } from "../harness/temporary.ts";

/** Shows which home a command has. */
const home: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(plainOutput(outcome.output));
  return act(conversation, { type: "run", command: "printenv HOME", purpose: "Looks for its home" });
};

/** An operator's file that has plugins, which some of what is planted would need. */
const toml = (modelUrl: string): string => `
model = "scripted"
model_provider = "mine"
sandbox_mode = "danger-full-access"
[model_providers.mine]
name = "mine"
base_url = "${modelUrl}"
wire_api = "responses"
env_key = "CLI_B_API_KEY"
[features]
plugins = true
`;

type Line = Record<string, unknown> & { type: string; payload: Record<string, unknown> };

function put(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

/** Changes a session's history as a tool could. */
function changeHistory(codex: string, change: (lines: Line[]) => Line[]): void {
  const sessions = join(codex, "sessions");
  const [path = ""] = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("l"));
  const lines = readFileSync(join(sessions, path), "utf8").trimEnd().split("\n");
  const changed = change(lines.map((line) => JSON.parse(line)));
  writeFileSync(join(sessions, path), changed.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** Adds to the first line of a history, which is about its thread, and to what later lines say of turns and settings. */
function changeMembers(members: Readonly<Record<string, unknown>>): (lines: Line[]) => Line[] {
  return (lines) => {
    for (const { type, payload } of lines) {
      if (type === "session_meta" || type === "turn_context") Object.assign(payload, members);
      if (payload["type"] === "thread_settings_applied") Object.assign(payload["thread_settings"] ?? {}, members);
    }
    return lines;
  };
}

const collaboration = {
  mode: "plan",
  settings: { model: "scripted", developer_instructions: "PLANTED-COLLABORATION" },
};
const tool = { type: "function", name: "planted_tool", description: "PLANTED-TOOL", inputSchema: { type: "object" } };

/** A plugin that runs a program; everything that names one. */
function plantPlugin(directory: string, mark: string): Readonly<Record<string, unknown>> {
  put(directory, {
    ".codex-plugin/plugin.json": JSON.stringify({ name: "planted", version: "1.0.0", mcpServers: "./.mcp.json" }),
    ".mcp.json": JSON.stringify({ mcpServers: { planted: { command: "/usr/bin/touch", args: [mark] } } }),
  });
  giveToUser(directory);
  const location = { type: "environment", environmentId: "local", path: directory };
  return { selected_capability_roots: [{ id: "planted", location }] };
}

const SKILL = "---\nname: planted\ndescription: PLANTED-SKILL\n---\nPLANTED-SKILL\n";

describe.each(CLIS_B)("$version", (cli) => {
  const stage = shareStage(cli, {
    model: { scenarios: { home } },
    env: (modelUrl) => ({ CLI_B_CONFIG_TOML: toml(modelUrl) }),
  });

  async function startSession({ turnd, directory }: Stage) {
    const first = await turnd.run({ executor: "cli-b", input: "My word is quince. @@text:Noted.@@" });
    const sessionHome = join(directory, "state/sessions", first.session_id, "home");
    return { ...first, sessionHome, codex: join(sessionHome, "codex") };
  }

  /** A turn after something was planted, and what it sent. */
  async function runNext(session: Awaited<ReturnType<typeof startSession>>, mode: "execute" | "plan" = "execute") {
    const { turnd, model } = stage();
    giveToUser(session.sessionHome);
    const before = model.requests.length;
    const { session_id } = session;
    const turn = await turnd.run({ session_id, mode, input: "And now? @@recall@@", timeout_ms: 60_000 });
    const sent = JSON.stringify(model.requests.slice(before).map(({ body }) => body));
    const events = await turnd.events(turn.turn_id);
    const warnings = events.flatMap(({ type, data }) => (type === "warning" ? [JSON.stringify(data)] : []));
    return { turn, planted: [...new Set(sent.match(/PLANTED-[A-Z]+|planted_tool|spawn_agent/g) ?? [])], warnings };
  }

  /** The same for a turn that goes on with its thread. */
  async function goOn(session: Awaited<ReturnType<typeof startSession>>, turnsBefore = 1) {
    const next = await runNext(session);
    const { native_session_id } = session;
    expect(next.turn).toMatchObject({ status: "completed", resumed: true, degraded: false, native_session_id });
    const said = [expect.stringContaining("quince"), "And now? @@recall@@"].slice(0, turnsBefore);
    expect(JSON.parse(next.turn.output ?? "")).toMatchObject({ said, now: "And now? @@recall@@" });
    return next;
  }

  test("a message that a tool has queued for the thread is in no turn", async () => {
    const session = await startSession(stage());
    const args = ["queue", "--thread", session.native_session_id ?? "", "--message", "PLANTED-MESSAGE"];
    const [setpriv = "", ...command] = asUser(CLI_USER, [binaryOf(cli.version), ...args]);
    const env = { PATH: "/usr/bin:/bin", HOME: session.sessionHome, CODEX_HOME: session.codex, CLI_B_API_KEY: KEY };
    const queued = spawnSync(setpriv, command, { env, encoding: "utf8" });
    // The oldest has no queue.
    if (cli.version !== "0.139.0") {
      expect(queued).toMatchObject({ status: 0 });
      const queue = openSqlite(join(session.codex, "queue_1.sqlite"));
      expect(JSON.stringify(queue.prepare("SELECT * FROM queued_items").all())).toContain("PLANTED-MESSAGE");
      queue.close();
    }
    expect((await goOn(session)).planted).toEqual([]);
  });

  test("a changed history gives no text, tool or helper to a later turn", async () => {
    const session = await startSession(stage());
    // The CLI writes such members itself.
    changeHistory(session.codex, changeMembers({ base_instructions: { text: "PLANTED-BASE" } }));
    const { planted, warnings } = await goOn(session);
    expect(planted).toEqual([]);
    expect(warnings.join()).not.toContain("configuration_removed");

    const texts = { collaboration_mode: collaboration, developer_instructions: "PLANTED-DEVELOPER" };
    changeHistory(session.codex, changeMembers({ dynamic_tools: [tool], multi_agent_version: "v2", ...texts }));
    const next = await goOn(session, 2);
    expect(next.planted).toEqual([]);
    expect(next.warnings.join()).toContain("configuration_removed");
  });

  test("nor does a history whose thread is told of in another line, or with another spelling", async () => {
    const session = await startSession(stage());
    changeHistory(session.codex, ([meta, ...lines]) => {
      if (meta === undefined) return [];
      const members = { base_instructions: { text: "PLANTED-BASE" }, dynamic_tools: [tool] };
      const second = { ...meta, payload: { ...meta.payload, ...members } };
      return [{ ...second, payload: second.payload }, ...lines, second];
    });
    const sessions = join(session.codex, "sessions");
    execFileSync("sed", [
      "-i",
      's/dynamic_tools/d\\\\u0079namic_tools/; s/:"session_meta/: "\\\\u0073ession_meta/',
      ...listHistories(sessions),
    ]);
    const { turn, planted } = await runNext(session);
    expect(turn).toMatchObject({ status: "completed", native_session_id: session.native_session_id });
    expect(planted).toEqual([]);
  });

  test("nothing that a history names is run, in a plan or an execution", async () => {
    const { turnd } = stage();
    for (const mode of ["execute", "plan"] as const) {
      const session = await startSession(stage());
      const mark = join(turnd.workspace, `ran-in-${mode}`);
      changeHistory(session.codex, changeMembers(plantPlugin(join(turnd.workspace, "plugin"), mark)));
      const { turn } = await runNext(session, mode);
      // A machine whose kernel allows no sandbox cannot plan, and says so.
      if (turn.failure?.code !== "sandbox_unavailable")
        expect(turn).toMatchObject({ status: "completed", resumed: true });
      expect(existsSync(mark)).toBe(false);
    }
  });

  test("skills and other texts in a home are no part of a later turn, and what is no plain file does not keep it from running", async () => {
    const session = await startSession(stage());
    put(session.codex, {
      "skills/planted/SKILL.md": SKILL,
      "skills/.system/imagegen/SKILL.md": SKILL,
      "AGENTS.md": "PLANTED-AGENTS",
      "rules/default.rules": "PLANTED",
      "memories/memory_summary.md": "PLANTED-MEMORY",
    });
    put(join(session.sessionHome, "codex-home"), { ".agents/skills/planted/SKILL.md": SKILL });
    put(join(stage().directory, "home"), { ".agents/skills/planted/SKILL.md": SKILL });
    const pipes = [
      "installation_id",
      "goals_1.sqlite",
      "logs_2.sqlite",
      "memories_1.sqlite",
      "state_5.sqlite",
      "queue_1.sqlite",
    ];
    for (const name of [...pipes, "models_cache.json", "thread_history_1.sqlite", "config.toml"]) {
      rmSync(join(session.codex, name), { force: true, recursive: true });
      execFileSync("mkfifo", [join(session.codex, name)]);
    }
    execFileSync("mkfifo", [join(session.codex, "sessions/2026.jsonl")]);
    const { planted, warnings } = await goOn(session);
    expect(planted).toEqual([]);
    const said = warnings.join("\n");
    for (const name of [...pipes, "skills/planted", "AGENTS.md", "rules", "memories", "sessions/2026.jsonl"]) {
      expect(said).toContain(`codex/${name} in the session's home`);
    }
    rmSync(join(stage().directory, "home/.agents"), { recursive: true });
  });

  test("what a tool has closed is opened again, and the thread goes on", async () => {
    const session = await startSession(stage());
    const sessions = join(session.codex, "sessions");
    for (const path of ["", ...readdirSync(sessions, { recursive: true, encoding: "utf8" })].toReversed()) {
      chmodSync(join(sessions, path), 0);
    }
    chmodSync(session.codex, 0);
    expect((await goOn(session)).warnings).toEqual([]);
  });

  test("triggers and a state that waits for another process do not keep a turn from running", async () => {
    const session = await startSession(stage());
    const state = openSqlite(join(session.codex, "state_5.sqlite"));
    state.exec("UPDATE backfill_state SET status = 'running', updated_at = 99999999999");
    for (const [index, event] of ["INSERT", "UPDATE"].entries()) {
      state.exec(`CREATE TRIGGER t${index} AFTER ${event} ON threads BEGIN
        SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END`);
    }
    state.close();
    await goOn(session);
  });

  test("a command of the model has the home of the user, not the CLI's", async () => {
    const { turnd, directory } = stage();
    const { output } = await turnd.run({ executor: "cli-b", input: "@@home@@" });
    expect(output).toBe(join(directory, "home"));
  });
});

function listHistories(sessions: string): string[] {
  const names = readdirSync(sessions, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(sessions, name));
}
