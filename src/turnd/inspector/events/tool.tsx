import type { Tolerant } from "../../protocol/newer-words.ts";
import type { LoggedEvent } from "../../protocol/events.ts";
import { formatBytes } from "../text/format.ts";
import { toJsonText } from "../text/json-text.ts";
import { Code, Diff, Output, Plain, Prose } from "../text/text.tsx";
import { isRecord } from "./shown-event.ts";

type ToolStarted = Extract<Tolerant<LoggedEvent>, { type: "tool.started" }>["data"];
type ToolEnded = Extract<Tolerant<LoggedEvent>, { type: "tool.ended" }>["data"];

/** What a tool was given, what it printed and what it changed. */
export function ToolBody({ call }: { readonly call: ToolStarted | ToolEnded }) {
  const ended = "status" in call ? call : undefined;
  const changes = ended?.changes ?? [];
  return (
    <div class="tool">
      <ToolInput input={call.input} title={call.title} isFolded={changes.length > 0} />
      {changes.length === 0 && call.locations !== undefined && call.locations.length > 0 && (
        <p class="muted">
          <Plain
            text={call.locations.map(({ path, line }) => (line === undefined ? path : `${path}:${line}`)).join(", ")}
          />
        </p>
      )}
      {ended?.error !== undefined && (
        <div class="error">
          <Prose text={ended.error} />
        </div>
      )}
      {ended?.output !== undefined && ended.output.text !== "" && (
        <>
          <Output text={ended.output.text} />
          {ended.output.truncated && (
            <p class="muted">The CLI cut this output; {formatBytes(ended.output.bytes)} are here.</p>
          )}
        </>
      )}
      {changes.map(({ path, change, diff }, index) => (
        <section key={index} class="change">
          <p>
            <span class={`pill ${change}`}>{change}</span>{" "}
            <code>
              <Plain text={path} />
            </code>
          </p>
          {diff !== undefined && <Diff text={diff} />}
        </section>
      ))}
    </div>
  );
}

interface ToolInputProps {
  readonly input: unknown;
  readonly title: string | undefined;
  /** Changes say more than the input. */
  readonly isFolded: boolean;
}

/** A command or another single value as it is, anything else as JSON; nothing that the title shows already. */
function ToolInput({ input, title, isFolded }: ToolInputProps) {
  const text = describeInput(input);
  if (text === undefined || text === title || text === `$ ${title}`) return null;
  if (isFolded) {
    return (
      <details class="input">
        <summary class="muted">Input</summary>
        <Code text={text} />
      </details>
    );
  }
  return (
    <div class="input">
      <span class="visually-hidden">Input: </span>
      <Code text={text} />
    </div>
  );
}

function describeInput(input: unknown): string | undefined {
  if (input === undefined || input === null) return undefined;
  if (typeof input === "string") return input;
  if (!isRecord(input)) return toJsonText(input);
  const entries = Object.entries(input);
  if (entries.length === 0) return undefined;
  const command = input["command"];
  if (typeof command === "string" && entries.every(([key]) => key === "command" || key === "description")) {
    return `$ ${command}`;
  }
  return toJsonText(input);
}
