import { wholeFile } from "../cli-b.ts";
import { does, DONE, ends, HANG, refuse, RESET, run, say, thought } from "../reply.ts";
import { cancelled, fails, only, type Scene } from "../scene.ts";
import { BUSY, FAILURE, inTool, onceAsked, TOOL } from "./parts.ts";

const BEGIN = does(BUSY);
const STALL = say("So far.", "stall");
/** What CLI B prints of a command that is stopped; CLI A prints only what is over. */
const STARTED = { cliB: { tools: 1 } } as const;
const SAID = { cliB: { text: "So far." } } as const;
const retrying = (by: "cancel" | null, ...signals: NodeJS.Signals[]) => ({
  when: { shows: /Reconnecting|message="stream error"/ },
  signals,
  by,
});
const crashed = (name: string, why: string, replies: Parameters<typeof fails>[3], more: Parameters<typeof fails>[4]) =>
  fails(name, "crashed", why, replies, more);

/** Turns that a signal ends: turnd's, or one from outside. */
export const STOPS: readonly Scene[] = [
  cancelled("interrupted-in-tool", "SIGINT while a command runs", BEGIN, {
    stop: inTool("cancel", "SIGINT"),
    ...STARTED,
  }),
  cancelled("terminated-in-tool", "SIGTERM while a command runs", BEGIN, {
    stop: inTool("cancel", "SIGTERM"),
    ...STARTED,
  }),
  cancelled("killed-in-second-tool", "SIGKILL while a second command runs", [TOOL, BEGIN], {
    stop: inTool("cancel", "SIGKILL"),
    tools: 1,
    cliB: { tools: 2 },
  }),
  cancelled(
    "killed-with-grandchildren",
    "SIGKILL; a command has children in sessions of their own",
    does(run("setsid sleep 12 & touch started; sh -c 'sleep 40; :' & wait")),
    {
      stop: inTool("cancel", "SIGKILL"),
      ...STARTED,
    },
  ),
  cancelled("interrupted-in-stream", "SIGINT while the provider is silent", STALL, {
    stop: onceAsked(1, "cancel", "SIGINT"),
    cliB: { text: "So far.", stop: { when: { shows: /agent_message/ }, signals: ["SIGINT"], by: "cancel" } },
  }),
  cancelled("interrupted-before-answer", "SIGINT before the model says anything", HANG, {
    stop: onceAsked(1, "cancel", "SIGINT", "SIGKILL"),
  }),
  cancelled("terminated-between-tries", "SIGTERM between two attempts", refuse(503, "Restarting."), {
    stop: retrying("cancel", "SIGTERM"),
    cliB: { replies: [RESET] },
  }),
  crashed("killed-from-outside", "SIGKILL by somebody else", BEGIN, { stop: inTool(null, "SIGKILL"), ...STARTED }),
  crashed("terminated-from-outside", "SIGTERM by somebody else", BEGIN, { stop: inTool(null, "SIGTERM"), ...STARTED }),
  crashed("hung-up-from-outside", "SIGHUP by somebody else", BEGIN, { stop: inTool(null, "SIGHUP"), ...STARTED }),
  crashed("aborted-from-outside", "SIGABRT by somebody else", BEGIN, { stop: inTool(null, "SIGABRT"), ...STARTED }),
  crashed(
    "segmentation-fault",
    "SIGSEGV, which CLI A's runtime reports and ends with another signal, and CLI B needs twice",
    BEGIN,
    {
      stop: inTool(null, "SIGSEGV"),
      cliB: { replies: [HANG], stop: onceAsked(1, null, "SIGSEGV", "SIGSEGV") },
    },
  ),
  crashed("killed-by-a-tool", "a command kills the CLI", does(run("sleep 0.5; kill -9 $PPID; sleep 5")), {
    tools: 0,
    ...STARTED,
  }),
  fails("idle-in-tool", "idle_timeout", "a command that prints nothing for too long", BEGIN, {
    stop: inTool("idle_timeout", "SIGINT", "SIGKILL"),
    cliA: { stop: inTool("idle_timeout", "SIGKILL") },
    ...STARTED,
  }),
  fails("idle-in-answer", "idle_timeout", "an answer that stops in its middle", STALL, {
    stop: { when: { shows: /step_start|agent_message/ }, signals: ["SIGTERM", "SIGKILL"], by: "idle_timeout" },
    ...SAID,
  }),
  fails("idle-after-tool", "idle_timeout", "the second request is never answered", [TOOL, HANG], {
    stop: onceAsked(2, "idle_timeout", "SIGKILL"),
    tools: 1,
    cliA: { also: ["provider_timeout"] },
  }),
  fails("provider-hangs", "idle_timeout", "a request that is never answered", HANG, {
    stop: onceAsked(1, "idle_timeout", "SIGINT", "SIGKILL"),
    cliA: { name: "hangs-until-killed", stop: onceAsked(1, "idle_timeout", "SIGKILL") },
  }),
  fails("output-read-by-nobody", "output_incomplete", "nobody reads stdout", [TOOL, DONE], {
    only: "cli-a",
    stdout: "closed",
    also: ["crashed"],
    tools: 0,
  }),
  ...only(
    "cli-a",
    cancelled("terminated-at-start", "SIGTERM before the first record", DONE, {
      stop: { when: { shows: /./ }, signals: ["SIGTERM"], by: "cancel" },
    }),
    cancelled("interrupted-at-start", "SIGINT while it starts", DONE, {
      logs: "none",
      stop: { when: { afterMs: 400 }, signals: ["SIGINT"], by: "cancel" },
    }),
    cancelled("killed-by-cancel", "SIGKILL for a cancel", BEGIN, { stop: inTool("cancel", "SIGKILL") }),
    crashed("quit-from-outside", "SIGQUIT by somebody else, while the model is silent", say("", "stall"), {
      stop: onceAsked(1, null, "SIGQUIT"),
    }),
    crashed("killed-after-write", "SIGKILL by somebody else in the second tool", [TOOL, BEGIN], {
      stop: inTool(null, "SIGKILL"),
      tools: 1,
    }),
    fails(
      "idle-while-rate-limited",
      "rate_limited",
      "the provider asks to wait for 15 minutes",
      refuse(429, "Too many requests in this minute", null, { "retry-after": "900" }),
      {
        stop: { when: { shows: FAILURE }, signals: ["SIGKILL"], by: "idle_timeout" },
        also: ["idle_timeout"],
      },
    ),
    fails(
      "silence-no-log",
      "idle_timeout",
      "headers, then nothing, no log",
      { do: "silence" },
      {
        logs: "none",
        stop: onceAsked(1, "idle_timeout", "SIGKILL"),
        also: ["provider_timeout"],
      },
    ),
    fails("stdin-left-open", "idle_timeout", "stdin is left open, and the CLI waits for it", DONE, {
      stdin: "open",
      stop: { when: { afterMs: 20_000 }, signals: ["SIGKILL"], by: "idle_timeout" },
    }),
    fails("reader-gone", "output_incomplete", "nobody reads stdout", DONE, { stdout: "closed", also: ["crashed"] }),
    fails(
      "output-cut-by-pipe",
      "output_incomplete",
      "a pipe holds less than the answer",
      say("All of the report. ".repeat(9_000)),
      {
        stdout: "late",
        unknownRecords: 1,
      },
    ),
    fails(
      "output-lost-in-pipe",
      "output_incomplete",
      "a pipe holds less than two long outputs",
      [does(run("seq 1 30000")), does(run("seq 30000 60000")), DONE],
      { stdout: "late", tools: 0, unknownRecords: 1 },
    ),
  ),
  ...only(
    "cli-b",
    cancelled("killed-by-cancel", "turnd has to use SIGKILL", HANG, { stop: onceAsked(1, "cancel", "SIGKILL") }),
    cancelled("cancel-at-once", "SIGINT as soon as the CLI is started", HANG, {
      // Sooner than the recorder looks.
      within: ["sh", "-c", '(sleep 0.04; kill -INT $$) & exec "$@"', "sh"],
      stop: { when: { afterMs: 0 }, signals: [], by: "cancel" },
    }),
    fails("interrupted-from-outside", "crashed", "a SIGINT that turnd did not send", HANG, {
      also: ["unknown"],
      stop: onceAsked(1, null, "SIGINT"),
    }),
    crashed("user-signal-from-outside", "SIGUSR1 by somebody else", HANG, { stop: onceAsked(1, null, "SIGUSR1") }),
    crashed("killed-between-tries", "SIGKILL by somebody else between two attempts", RESET, {
      stop: retrying(null, "SIGKILL"),
      also: ["network_error"],
    }),
    fails("idle-after-thought", "idle_timeout", "a thought, then silence", ends("stall", thought("Hm.")), {
      stop: { when: { shows: /"reasoning"/ }, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
    }),
    fails("idle-after-reset", "idle_timeout", "a reset, then silence", [RESET, HANG], {
      also: ["network_error"],
      stop: onceAsked(2, "idle_timeout", "SIGINT", "SIGKILL"),
    }),
    fails(
      "waiting-for-network",
      "network_error",
      "an operator lets it wait for the network; turnd ends the turn",
      HANG,
      {
        also: ["idle_timeout"],
        baseUrl: "http://127.0.0.1:9/v1",
        toml: wholeFile("[features]\nunbounded_connection_retries = true"),
        stop: { when: { shows: /waiting for network/, times: 2 }, signals: ["SIGINT"], by: "idle_timeout" },
      },
    ),
    fails(
      "built-in-provider-unreachable",
      "network_error",
      "the default provider cannot be reached; turnd ends the turn",
      HANG,
      {
        also: ["idle_timeout"],
        toml: 'model = "gpt-5.5"\n',
        env: { CODEX_API_KEY: "FAKE-KEY-T" },
        stop: { when: { shows: /Reconnecting/, times: 3 }, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
      },
    ),
  ),
];
