import { useEffect, useState } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnInputText, TurnSnapshot } from "../../protocol/turns.ts";
import { renewals, turnd } from "../connection.ts";
import { goTo } from "../route.ts";
import { formatDuration, shortId } from "../text/format.ts";
import { Plain, Prose } from "../text/text.tsx";
import { visibleText } from "../text/visible.ts";
import { UsageFacts } from "../events/facts.tsx";
import type { EventStore } from "./event-store.ts";
import { Siblings } from "./siblings.tsx";
import { StatusMark } from "./status.tsx";
import { ActivityLine } from "./activity-line.tsx";
import { TurnActions } from "./turn-actions.tsx";

/** What a turn was asked, how it stands, and what can be done with it. */
export function TurnHeader({ turn, store }: { readonly turn: Tolerant<TurnSnapshot>; readonly store: EventStore }) {
  const input = useInput(turn.turn_id);
  void store.version.value;
  const ended = store.events.at(-1)?.known;
  const result = ended?.type === "turn.ended" ? ended.data : undefined;
  const { reading } = store;
  return (
    <header class="turn-header">
      <div class="turn-line">
        <button type="button" class="quiet back" onClick={() => goTo(undefined)} aria-label="All turns">
          ‹
        </button>
        <StatusMark status={turn.status} />
        {result?.failure !== undefined && <span class="pill bad">{result.failure.code}</span>}
        <span class="muted facts-line">
          <span>{turn.executor}</span>
          {turn.model !== undefined && <span>{turn.model}</span>}
          <span>{turn.mode}</span>
          {turn.status === "queued" && turn.queue_position > 0 && <span>{turn.queue_position} ahead</span>}
          {turn.status === "running" && <ActivityLine turn={turn} store={store} />}
          {result !== undefined && <span>{formatDuration(result.duration_ms)}</span>}
          {result?.usage !== undefined && <UsageFacts usage={result.usage} />}
          {turn.metadata !== undefined &&
            Object.entries(turn.metadata).map(([name, value]) => (
              <span key={name} title={visibleText(`${name}=${value}`)}>
                <Plain text={shorten(`${name}=${value}`)} />
              </span>
            ))}
        </span>
        <TurnActions turn={turn} input={input} />
      </div>
      <Prompt input={input} excerpt={turn.input_excerpt} />
      <p class="ids muted">
        <span title={turn.turn_id}>turn {shortId(turn.turn_id)}</span>
        <Siblings turn={turn} />
        <span>
          <Plain text={turn.workspace} />
        </span>
        {reading.value.state === "ended" && reading.value.isProved && (
          <span title="The events' digest is the one that the turn ended with">✓ complete history</span>
        )}
        {reading.value.state === "failed" && (
          <span role="alert" class="fault">
            {reading.value.message}
          </span>
        )}
      </p>
    </header>
  );
}

/** Of a caller's data the whole is in the title. */
const SHOWN_METADATA = 80;

function shorten(text: string): string {
  return text.length <= SHOWN_METADATA ? text : `${text.slice(0, SHOWN_METADATA)}…`;
}

/** Longer prompts are folded. */
const FOLDED = 280;

function Prompt({
  input,
  excerpt,
}: {
  readonly input: Tolerant<TurnInputText> | undefined;
  readonly excerpt: string | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const text = input?.text ?? excerpt ?? "";
  const isLong = text.length > FOLDED || text.split("\n").length > 4;
  return (
    <div class={isLong && !isOpen ? "prompt folded" : "prompt"}>
      <h2 class="visually-hidden">Prompt</h2>
      <Prose text={text === "" ? "(no prompt is known)" : text} />
      {input !== undefined && input.images > 0 && <p class="muted">and {input.images} images</p>}
      {isLong && (
        <button type="button" class="quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show all"}
        </button>
      )}
    </div>
  );
}

function useInput(turnId: string): Tolerant<TurnInputText> | undefined {
  const [input, setInput] = useState<Tolerant<TurnInputText> | undefined>(undefined);
  const renewed = renewals.value;
  useEffect(() => {
    const controller = new AbortController();
    turnd.input(turnId, { signal: controller.signal }).then(setInput, () => undefined);
    return () => controller.abort();
  }, [turnId, renewed]);
  return input;
}
