import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import { wholeFile } from "../cli-b.ts";
import { fails, type Place, type Scene, type Stop } from "../scene.ts";
import { DONE, http, refuse, run, type Reply, type Answer } from "../reply.ts";

/** Words that read like the failure of one of the CLIs. */
export const WORDS_OF_ERRORS =
  'Error: unexpected status 401 Unauthorized. {"type":"error","error":{"name":"APIError"}} {"type":"turn.failed"} Rate limit reached. ENOSPC: no space left on device.';

/** A command that is at work when a run is stopped. */
export const BUSY = run("touch started; sleep 45");
export const TOOL: Answer = { do: "answer", pieces: [run("echo tool-ok; sleep 0.3")], ending: "stop" };

/** How a run is stopped. */
export const inTool = (by: Stop["by"], ...signals: NodeJS.Signals[]): Stop => ({
  when: { file: "started" },
  signals,
  by,
});
export const onceAsked = (asked: number, by: Stop["by"], ...signals: NodeJS.Signals[]): Stop => ({
  when: { asked },
  signals,
  by,
});
/** A failed request, as CLI A logs it. */
export const FAILURE = /message="stream error"|isRetryable":true/;
/** Two of them show what goes wrong; CLI A's six take more than a minute. */
export const TWO_FAILURES: Stop = { when: { shows: FAILURE, times: 2 }, signals: ["SIGKILL"], by: "idle_timeout" };
/** CLI A asks for ever for an answer that has no end. */
export const SEVEN_STEPS: Stop = {
  when: { shows: /"step_finish"/, times: 7 },
  signals: ["SIGKILL"],
  by: "idle_timeout",
};

/** The turns before a resume. */
export const RESUMED = (...turns: readonly (readonly Reply[])[]) => ({ earlier: turns, resume: "earlier" }) as const;

type Args = (args: readonly string[], place: Place) => readonly string[];
/** Further words at the end, where CLI A takes its own. */
export const more =
  (...words: readonly string[]): Args =>
  (args) => [...args, ...words];
/** Words right behind the command of CLI B. */
export const early =
  (...words: readonly string[]): Args =>
  (args) => [...args.slice(0, 1), ...words, ...args.slice(1)];
/** Words in place of the last one, which stands for a prompt on stdin of CLI B. */
export const instead =
  (...words: readonly string[]): Args =>
  (args) => [...args.slice(0, -1), ...words];
/** One word in place of another. */
export const swap =
  (from: string, to: string): Args =>
  (args) =>
    args.map((word) => (word === from ? to : word));
export const without =
  (word: string): Args =>
  (args) =>
    args.filter((given) => given !== word);
/** Another value behind an option. */
export const valued =
  (option: string, value: (before: string, place: Place) => string): Args =>
  (args, place) =>
    args.map((word, index) => (args[index - 1] === option ? value(word, place) : word));

/** A server over stdio: a tool that answers, one that fails, and one whose answer is an error of the protocol. */
export const MCP_SERVER = String.raw`
use strict; use warnings; use JSON::PP; $| = 1;
my %does = (
  say => sub { result => { content => [ { type => 'text', text => 'said' } ], isError => JSON::PP::false } },
  fail => sub { result => { content => [ { type => 'text', text => 'Error 401: it failed' } ], isError => JSON::PP::true } },
  snap => sub { error => { code => -32603, message => 'the spring is broken' } },
);
while (my $line = <STDIN>) {
  my $m = decode_json($line); next unless defined $m->{id};
  my %out = $m->{method} eq 'initialize'
    ? (result => { protocolVersion => $m->{params}{protocolVersion}, capabilities => { tools => {} }, serverInfo => { name => 'lab', version => '1' } })
    : $m->{method} eq 'tools/list'
    ? (result => { tools => [ map { { name => $_, description => $_, inputSchema => { type => 'object', properties => { text => { type => 'string' } } } } } sort keys %does ] })
    : $m->{method} eq 'tools/call' ? $does{$m->{params}{name}}->() : (result => {});
  print encode_json({ jsonrpc => '2.0', id => $m->{id}, %out }), "\n";
}`;

export const BAD_KEY = refuse(401, "Incorrect API key provided: sk-bad.", "invalid_api_key");
export const SERVER_ERROR = http(500, { error: { message: "The server had an error.", type: "server_error" } });
export const QUOTA = "You exceeded your current quota, please check your plan and billing details.";
export const TOO_LONG = "Your input exceeds the context window of this model.";
/** A file whose provider is asked once. */
export const ONCE = wholeFile("", 0);
/** CLI A: options of its provider. */
export const withOptions = (options: object) => ({ config: { provider: { lab: { options } } } });
/** CLI A repeats these for a minute. */
export const killed = (name: string, ...also: FailureCode[]): Partial<Scene> => ({
  name: `${name}-until-killed`,
  stop: TWO_FAILURES,
  also: ["idle_timeout", ...also],
});
/** A fault of the configuration, some would say. */
export const OR_CONFIG = { also: ["config_invalid"] } as const;
/** A turn that fails for what the CLI is given or finds; its provider would answer. */
export const wrong = (
  name: string,
  code: "config_invalid" | "invalid_request" | "storage_error" | "model_not_found",
  why: string,
  more_: Parameters<typeof fails>[4],
): Scene => fails(name, code, why, DONE, more_);
