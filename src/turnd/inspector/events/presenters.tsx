import type { ComponentChildren } from "preact";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { LoggedEvent } from "../../protocol/events.ts";
import { countOf, formatDuration } from "../text/format.ts";
import { Markdown } from "../text/markdown.tsx";
import { Code, Diff, Output, Plain, Prose } from "../text/text.tsx";
import { Facts, UsageFacts } from "./facts.tsx";
import { PlanBody } from "./plan.tsx";
import { ToolBody } from "./tool.tsx";

/** A type of the protocol. */
export type EventType = LoggedEvent["type"];
/** The `data` of an event type. */
export type DataOf<T extends EventType> = Extract<Tolerant<LoggedEvent>, { type: T }>["data"];

/** How urgent an event looks. */
export type Tone = "plain" | "speech" | "thought" | "tool" | "good" | "bad" | "warn";

/** The groups that a reader can hide. */
export const GROUPS = ["messages", "reasoning", "tools", "steps", "problems", "other"] as const;
export type Group = (typeof GROUPS)[number];

/** How events of one type are shown. */
export interface Presenter<T extends EventType> {
  readonly label: string;
  readonly group: Group;
  tone(data: DataOf<T>): Tone;
  /** One line that says what happened. */
  headline(data: DataOf<T>): ComponentChildren;
  /** What is shown below the line; absent: nothing but the line. */
  body?(data: DataOf<T>): ComponentChildren;
}

const quiet = (): Tone => "plain";
/** Of a piece of a text, what its line shows. */
const MOST_PIECE = 400;

/** One entry per type of the protocol: a type that is added there does not compile until it has one here. */
export const PRESENTERS: { readonly [T in EventType]: Presenter<T> } = {
  "turn.started": {
    label: "Started",
    group: "steps",
    tone: quiet,
    headline: ({ cli, mode, model }) => (
      <Plain text={[`${cli.name} ${cli.version ?? ""}`.trim(), mode, model ?? ""].filter(Boolean).join(" · ")} />
    ),
  },
  "session.bound": {
    label: "Session",
    group: "steps",
    tone: quiet,
    headline: ({ native_session_id: id, resumed }) => (
      <Plain text={`${resumed ? "resumed" : "new"} conversation ${id}`} />
    ),
  },
  "session.degraded": {
    label: "History lost",
    group: "problems",
    tone: () => "warn",
    headline: ({ reason }) => <Plain text={reason} />,
    body: ({ requested, bound }) => <Facts of={{ requested, bound }} />,
  },
  "step.started": {
    label: "Step",
    group: "steps",
    tone: quiet,
    headline: ({ index }) => `step ${index + 1} begins`,
  },
  "step.ended": {
    label: "Step",
    group: "steps",
    tone: quiet,
    headline: ({ index, reason, usage }) => (
      <>
        <Plain text={`step ${index + 1} ends: ${reason}`} />
        {usage !== undefined && <UsageFacts usage={usage} />}
      </>
    ),
  },
  message: {
    label: "Message",
    group: "messages",
    tone: () => "speech",
    headline: () => "",
    body: ({ text }) => <Markdown text={text} />,
  },
  reasoning: {
    label: "Reasoning",
    group: "reasoning",
    tone: () => "thought",
    headline: () => "",
    body: ({ text }) => <Markdown text={text} />,
  },
  "tool.started": {
    label: "Tool",
    group: "tools",
    tone: () => "tool",
    headline: ({ name, title }) => <ToolTitle name={name} title={title} />,
    body: (data) => <ToolBody call={data} />,
  },
  "tool.ended": {
    label: "Tool",
    group: "tools",
    tone: ({ status }) => (status === "completed" ? "tool" : "bad"),
    headline: ({ name, title, status, exit_code: code, duration_ms: ms }) => (
      <>
        <ToolTitle name={name} title={title} />
        <span class={status === "completed" ? "pill good" : "pill bad"}>
          {status}
          {code !== undefined && code !== 0 && ` (${code})`}
        </span>
        {ms !== undefined && <span class="muted">{formatDuration(ms)}</span>}
      </>
    ),
    body: (data) => <ToolBody call={data} />,
  },
  "plan.updated": {
    label: "Plan",
    group: "tools",
    tone: () => "tool",
    headline: ({ entries }) =>
      `${entries.filter(({ status }) => status === "completed").length} of ${entries.length} done`,
    body: ({ entries }) => <PlanBody entries={entries} />,
  },
  retry: {
    label: "Retry",
    group: "problems",
    tone: () => "warn",
    headline: ({ attempt, max, code, message }) => (
      <Plain text={`attempt ${attempt}${max === undefined ? "" : ` of ${max}`} · ${code} · ${message}`} />
    ),
  },
  "permission.denied": {
    label: "Denied",
    group: "problems",
    tone: () => "bad",
    headline: ({ permission, message }) => <Plain text={`${permission}: ${message}`} />,
    body: ({ patterns }) => (patterns === undefined ? null : <Facts of={{ patterns: patterns.join(", ") }} />),
  },
  warning: {
    label: "Warning",
    group: "problems",
    tone: () => "warn",
    headline: ({ code, message }) => <Plain text={`${code}: ${message}`} />,
  },
  "record.unknown": {
    label: "Unknown record",
    group: "problems",
    tone: () => "warn",
    headline: ({ reason }) => reason.replaceAll("_", " "),
    body: ({ line }) => <Code text={line} />,
  },
  "message.delta": {
    label: "Writing",
    group: "messages",
    tone: () => "speech",
    headline: ({ text }) => <Plain text={text.slice(0, MOST_PIECE)} />,
  },
  "reasoning.delta": {
    label: "Thinking",
    group: "reasoning",
    tone: () => "thought",
    headline: ({ text }) => <Plain text={text.slice(0, MOST_PIECE)} />,
  },
  "message.discarded": {
    label: "Cut off",
    group: "messages",
    tone: () => "warn",
    headline: ({ message_id: id, reason }) => <Plain text={`${id} does not count: ${reason}`} />,
  },
  "tool.output": {
    label: "Output",
    group: "tools",
    tone: () => "tool",
    headline: ({ truncated }) => (truncated === true ? "no more is shown before the end" : ""),
    body: ({ text }) => <Output text={text} />,
  },
  "approval.requested": {
    label: "Approval",
    group: "problems",
    tone: () => "warn",
    headline: ({ kind, title }) => <Plain text={`${kind}: ${title}`} />,
    body: ({ detail }) => (
      <>
        <Facts
          of={{ command: detail.command, cwd: detail.cwd, paths: detail.paths?.join(", "), reason: detail.reason }}
        />
        {detail.diff !== undefined && <Diff text={detail.diff} />}
      </>
    ),
  },
  "approval.resolved": {
    label: "Approval",
    group: "problems",
    tone: ({ decision }) => (decision === "accept" || decision === "accept_for_session" ? "good" : "bad"),
    headline: ({ decision, by }) => <Plain text={`${decision.replaceAll("_", " ")}, by ${by.replaceAll("_", " ")}`} />,
  },
  "input.requested": {
    label: "Question",
    group: "problems",
    tone: () => "warn",
    headline: ({ questions }) => <Plain text={questions.map(({ text }) => text).join(" · ")} />,
  },
  "input.answered": {
    label: "Question",
    group: "problems",
    tone: quiet,
    headline: ({ by }) => <Plain text={`answered, by ${by.replaceAll("_", " ")}`} />,
  },
  "input.accepted": {
    label: "Input",
    group: "steps",
    tone: quiet,
    headline: ({ kind, request_id: id }) => <Plain text={`${kind} ${id} was taken in`} />,
  },
  "turn.ended": {
    label: "Ended",
    group: "steps",
    tone: ({ status }) => (status === "completed" ? "good" : status === "cancelled" ? "warn" : "bad"),
    headline: ({ status, failure, cancelled_by: by, duration_ms: ms, cost_usd: cost, usage }) => (
      <>
        <strong>{status}</strong>
        {failure !== undefined && <span class="pill bad">{failure.code}</span>}
        {by !== undefined && <span class="pill warn">by {by.replaceAll("_", " ")}</span>}
        <span class="muted">{formatDuration(ms)}</span>
        {cost !== undefined && <span class="muted">${cost.toFixed(4)}</span>}
        {usage !== undefined && <UsageFacts usage={usage} />}
      </>
    ),
    body: ({ failure, counts }) => (
      <>
        {failure !== undefined && <Prose text={failure.message} />}
        <p class="muted">
          {[
            countOf(counts.events, "event"),
            countOf(counts.records, "record"),
            countOf(counts.tools, "tool call"),
            countOf(counts.retries, "retry", "retries"),
            countOf(counts.unknown, "unknown record"),
          ].join(", ")}
        </p>
      </>
    ),
  },
};

/** Whether this page knows how events of a type are shown. */
export function isKnownType(type: string): type is EventType {
  return Object.hasOwn(PRESENTERS, type);
}

/** The group that events of any type are hidden with. */
export function groupOf(type: string): Group {
  return isKnownType(type) ? PRESENTERS[type].group : "other";
}

function ToolTitle({ name, title }: { readonly name: string; readonly title: string | undefined }) {
  return (
    <>
      <strong>
        <Plain text={name} />
      </strong>
      {title !== undefined && title !== name && (
        <code class="title">
          <Plain text={title.slice(0, 400)} />
        </code>
      )}
    </>
  );
}
