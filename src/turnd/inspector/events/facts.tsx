import type { Usage } from "../../protocol/event-data.ts";
import { formatCount } from "../text/format.ts";
import { Plain } from "../text/text.tsx";

/** Some named values; those that are absent are left out. */
export function Facts({ of }: { readonly of: Readonly<Record<string, string | undefined>> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name.replaceAll("_", " ")}</dt>
              <dd>
                <Plain text={value} />
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Tokens, on one line. */
export function UsageFacts({ usage }: { readonly usage: Usage }) {
  const {
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    reasoning_tokens: reasoning,
  } = usage;
  return (
    <span class="muted">
      {formatCount(input)} in{cached > 0 && ` (${formatCount(cached)} cached)`}, {formatCount(output)} out
      {reasoning > 0 && ` (${formatCount(reasoning)} reasoning)`}
    </span>
  );
}
