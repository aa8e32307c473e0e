import { writeFileSync } from "node:fs";
import { bash, call, refusal, type Scene, type SceneConfig } from "../scene.ts";

/** A todo list of as many steps as there are states. */
export const todos = (...states: readonly string[]) =>
  call("todowrite", {
    todos: states.map((status, index) => ({ content: `Part ${index + 1} of the work`, status, priority: "high" })),
  });

/** Options of the provider. */
export const options =
  (more: Readonly<Record<string, unknown>>) =>
  ({ provider }: SceneConfig): void =>
    void Object.assign(provider.lab.options, more);

/** A run that is ended once it has shown two failed requests. */
export const KILLED = {
  shows: /message="stream error"/g,
  times: 2,
  signal: "SIGKILL",
  endedBy: "idle_timeout",
} as const;

/** A refusal with a maker's own body. */
export const body = (status: number, value: unknown) =>
  refusal(status, typeof value === "string" ? value : JSON.stringify(value));

/** A provider of a package that the CLI brings. */
export const bundled =
  (npm: string, more: (config: SceneConfig) => void = () => undefined) =>
  (config: SceneConfig): void => {
    config.provider.lab.npm = npm;
    more(config);
  };

/** The model calls a tool first. */
export const afterTool =
  (script: NonNullable<Scene["script"]>, command: string): NonNullable<Scene["script"]> =>
  (conversation, cue) =>
    conversation.entries.some(({ type }) => type === "tool_result")
      ? script(conversation, cue)
      : { type: "answer", parts: [bash(command)], ending: "stop" };

/** A server with a tool that answers and one that returns an error. */
export function serveTools(path: string): void {
  writeFileSync(
    path,
    String.raw`use strict; use warnings; use JSON::PP; $| = 1;
while (my $line = <STDIN>) {
  my $m = decode_json($line); next unless defined $m->{id};
  my $r = $m->{method} eq 'initialize'
    ? { protocolVersion => $m->{params}{protocolVersion}, capabilities => { tools => {} }, serverInfo => { name => 'store', version => '2' } }
    : $m->{method} eq 'tools/list'
    ? { tools => [ map { { name => $_, description => $_, inputSchema => { type => 'object', properties => { text => { type => 'string' } } } } } qw(lookup refuse) ] }
    : $m->{method} eq 'tools/call'
    ? { content => [ { type => 'text', text => $m->{params}{name} eq 'lookup' ? 'value' : 'Error 401: not for you' } ],
        isError => $m->{params}{name} eq 'lookup' ? JSON::PP::false : JSON::PP::true }
    : {};
  print encode_json({ jsonrpc => '2.0', id => $m->{id}, result => $r }), "\n";
}
`,
  );
}
