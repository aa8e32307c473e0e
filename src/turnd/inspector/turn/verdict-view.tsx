import { useEffect, useState } from "preact/hooks";
import type { Decision, TriedRule } from "../../protocol/decisions.ts";
import type { Evidence, UserAction } from "../../protocol/failures.ts";
import { lookUp, type Tolerant } from "../../protocol/newer-words.ts";
import type { TurnResult } from "../../protocol/turns.ts";
import { renewals, turnd } from "../connection.ts";
import { turnHref } from "../route.ts";
import { Markdown } from "../text/markdown.tsx";
import { Code, Plain, Prose } from "../text/text.tsx";
import type { EventStore } from "./event-store.ts";
import { StatusMark } from "./status.tsx";

/** How a turn ended, the line that decided it, and the rules that were tried. */
export function VerdictView({ turnId, store }: { readonly turnId: string; readonly store: EventStore }) {
  const { result, fault } = useResult(turnId, store.reading.value.state);
  if (fault !== undefined) return <p class="muted empty">{fault}</p>;
  if (result === undefined) return <p class="muted empty">The turn has not ended.</p>;
  const { failure, decision } = result;
  return (
    <div class="verdict" tabIndex={0} role="region" aria-label="Verdict">
      <p>
        <StatusMark status={result.status} /> {failure !== undefined && <span class="pill bad">{failure.code}</span>}{" "}
        {result.cancelled_by !== undefined && <span class="pill warn">{result.cancelled_by}</span>}
      </p>
      {failure !== undefined && (
        <>
          <Prose text={failure.message} />
          <p class="muted">
            {failure.retryable && "The same turn may succeed later."} {lookUp(HELPS, failure.user_action)}
          </p>
        </>
      )}
      <h2>Decided by</h2>
      <p>
        Rule <code>{decision.rule}</code> on {decision.on}
        {decision.seen_in !== undefined && <span class="muted">, seen in {decision.seen_in}</span>}
      </p>
      {decision.evidence.map((evidence, index) => (
        <EvidenceLine key={index} turnId={turnId} evidence={evidence} />
      ))}
      <Rules turnId={turnId} decision={decision} />
      {result.output !== null && result.output !== "" && (
        <>
          <h2>Output</h2>
          <Markdown text={result.output} />
        </>
      )}
    </div>
  );
}

const HELPS: Readonly<Record<UserAction, string>> = {
  none: "Nothing is to be done.",
  retry: "Sending it again helps.",
  settings: "The CLI's settings have to change.",
  credentials: "The credentials have to change.",
  billing: "The account with the provider has to change.",
  shorten: "A shorter request helps.",
  operator: "The operator has to act.",
};

function EvidenceLine({ turnId, evidence }: { readonly turnId: string; readonly evidence: Tolerant<Evidence> }) {
  return (
    <div class="evidence">
      <p class="muted">
        <Place turnId={turnId} evidence={evidence} />
      </p>
      <Code text={evidence.text} />
    </div>
  );
}

function Place({
  turnId,
  evidence: { source, line },
}: {
  readonly turnId: string;
  readonly evidence: Tolerant<Evidence>;
}) {
  if (line === undefined) return <>{source}</>;
  const place = `${source}:${line}`;
  return source === "stdout" ? <a href={turnHref(turnId, "raw", line)}>{place}</a> : <>{place}</>;
}

const OUTCOMES: Readonly<Record<TriedRule["outcome"], string>> = {
  won: "won",
  outranked: "outranked",
  no_match: "no match",
};

function Rules({ turnId, decision }: { readonly turnId: string; readonly decision: Tolerant<Decision> }) {
  const { tried = [] } = decision;
  if (tried.length === 0) return <p class="muted">No rules are recorded.</p>;
  return (
    <details>
      <summary>The {tried.length} rules that were tried, in order</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Rules">
        <table>
          <thead>
            <tr>
              {["Outcome", "On", "Rule", "Verdict", "Where", "Seen in"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tried.map((rule, index) => (
              <tr key={index} class={rule.outcome}>
                <td>{lookUp(OUTCOMES, rule.outcome) ?? rule.outcome}</td>
                <td>{rule.on}</td>
                <td>
                  <code>
                    <Plain text={rule.rule} />
                  </code>
                </td>
                <td>{rule.verdict ?? "–"}</td>
                <td>{rule.evidence !== undefined && <Place turnId={turnId} evidence={rule.evidence} />}</td>
                <td class="muted">{rule.seen_in}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

interface KnownResult {
  readonly result: Tolerant<TurnResult> | undefined;
  readonly fault: string | undefined;
}

function useResult(turnId: string, state: string): KnownResult {
  const [known, setKnown] = useState<KnownResult>({ result: undefined, fault: undefined });
  const renewed = renewals.value;
  useEffect(() => {
    if (state === "reading") return undefined;
    const controller = new AbortController();
    turnd.result(turnId, { explain: true, signal: controller.signal }).then(
      (result) => setKnown({ result, fault: undefined }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setKnown({ result: undefined, fault: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => controller.abort();
  }, [turnId, state, renewed]);
  return known;
}
