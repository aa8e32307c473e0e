import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import { readAnsi } from "./ansi.ts";
import { formatBytes } from "./format.ts";
import { showHidden, showWithLinks, type Piece } from "./visible.ts";

/** How much of a long text is shown before a reader asks for more. */
const SHOWN = 6_000;
/** Each time they ask, so many times as much. */
const GROWTH = 8;

/** What a model or a person has written: text, with addresses that can be followed. */
export function Prose({ text }: { readonly text: string }) {
  return <Long text={text} render={(part) => <div class="prose">{showWithLinks(part).map(renderPiece)}</div>} />;
}

/** What a program has printed: colours as far as it has set some, and nothing else of what a terminal would obey. */
export function Output({ text }: { readonly text: string }) {
  return (
    <Long
      text={text}
      render={(part) => (
        <pre class="output" tabIndex={0}>
          {readAnsi(part).map(({ text: shown, classes }, index) => (
            <span key={index} class={classes}>
              {showHidden(shown).map(renderPiece)}
            </span>
          ))}
        </pre>
      )}
    />
  );
}

/** Code or data, as it is. */
export function Code({ text }: { readonly text: string }) {
  return (
    <Long
      text={text}
      render={(part) => (
        <pre class="output" tabIndex={0}>
          {showHidden(part).map(renderPiece)}
        </pre>
      )}
    />
  );
}

/** A short text on one line. */
export function Plain({ text }: { readonly text: string }) {
  return <>{showHidden(text).map(renderPiece)}</>;
}

/** A text with addresses that can be followed, within another. */
export function Pieces({ text }: { readonly text: string }) {
  return <>{showWithLinks(text).map(renderPiece)}</>;
}

/** A unified diff. */
export function Diff({ text }: { readonly text: string }) {
  return (
    <Long
      text={text}
      render={(part) => (
        <pre class="output diff" tabIndex={0}>
          {part.split("\n").map((line, index) => (
            <span key={index} class={classOfDiffLine(line)}>
              {showHidden(line).map(renderPiece)}
              {"\n"}
            </span>
          ))}
        </pre>
      )}
    />
  );
}

function classOfDiffLine(line: string): string {
  if (/^(\+\+\+|---|@@|diff |index )/.test(line)) return "diff-head";
  if (line.startsWith("+")) return "diff-added";
  return line.startsWith("-") ? "diff-removed" : "";
}

function renderPiece({ text, isControl, href }: Piece, index: number): ComponentChild {
  if (isControl === true) {
    return (
      <span key={index} class="control" title="A character that is not seen">
        {text}
      </span>
    );
  }
  if (href === undefined) return text;
  return (
    <a key={index} href={href} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  );
}

/** A long text, of which a reader gets more when they ask. */
export function Long({ text, render }: { readonly text: string; readonly render: (part: string) => ComponentChild }) {
  const [shown, setShown] = useState(SHOWN);
  if (text.length <= shown * 1.2) return <>{render(text)}</>;
  // Not all at once: a browser stands still over a million lines.
  const more = Math.min(text.length - shown, shown * (GROWTH - 1));
  return (
    <>
      {render(text.slice(0, shown))}
      <button type="button" class="quiet" onClick={() => setShown(shown + more)}>
        Show {formatBytes(more)} more of {formatBytes(text.length - shown)}
      </button>
    </>
  );
}
