import { useEffect, useState } from "preact/hooks";
import type { TurnPatch } from "../../client/files.ts";
import { renewals, turnd } from "../connection.ts";
import { countOf } from "../text/format.ts";
import { Diff, Plain } from "../text/text.tsx";
import type { EventStore } from "./event-store.ts";
import { saveAs } from "./save-as.ts";

/** How many files are shown before a reader asks for more. */
const SHOWN_FILES = 50;
/** So many are open at first. */
const OPEN_FILES = 10;

/** What a turn changed in its workspace, a file each. */
export function DiffView({ turnId, store }: { readonly turnId: string; readonly store: EventStore }) {
  const { diff, fault } = useDiff(turnId, store.reading.value.state);
  const [shown, setShown] = useState(SHOWN_FILES);
  if (fault !== undefined) return <p class="muted empty">{fault}</p>;
  if (diff === undefined) return <p class="muted empty">Reading …</p>;
  const files = divideFiles(diff.patch);
  const more = Math.min(SHOWN_FILES, files.length - shown);
  return (
    <div class="verdict changes" tabIndex={0} role="region" aria-label="Diff">
      <p class="diff-summary">
        <span>{files.length === 0 ? "The turn changed no file." : `${countOf(files.length, "file")} changed`}</span>
        {files.length > 0 && (
          <button
            type="button"
            class="second small"
            onClick={() => saveAs(`${turnId}.patch`, new Blob([diff.bytes], { type: "text/x-diff" }))}
          >
            Save the patch
          </button>
        )}
      </p>
      {diff.isTruncated && (
        <p role="alert" class="fault">
          It is longer than turnd keeps (TURND_MAX_DIFF_BYTES): cut off, and it cannot be applied.
        </p>
      )}
      {diff.leftOut.length > 0 && (
        <ul class="muted" aria-label="Left out">
          {diff.leftOut.map(({ path, reason }, index) => (
            <li key={index}>
              It says nothing of{" "}
              <code>
                <Plain text={path} />
              </code>
              : <Plain text={reason} />
            </li>
          ))}
        </ul>
      )}
      {files.slice(0, shown).map(({ name, text }, index) => (
        <ChangedFile key={name} name={name} text={text} isOpenAtFirst={index < OPEN_FILES} />
      ))}
      {more > 0 && (
        <button type="button" class="quiet" onClick={() => setShown(shown + more)}>
          Show {countOf(more, "more file")} of {files.length - shown}
        </button>
      )}
    </div>
  );
}

interface ChangedFileProps {
  readonly name: string;
  readonly text: string;
  readonly isOpenAtFirst: boolean;
}

function ChangedFile({ name, text, isOpenAtFirst }: ChangedFileProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <details class="change" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>
          <Plain text={name} />
        </code>
      </summary>
      {/* Its lines are made when they are seen. */}
      {isOpen && <Diff text={text} />}
    </details>
  );
}

interface FileDiff {
  readonly name: string;
  readonly text: string;
}

/** Each file's part of a patch, as git writes it: a line of a file has a mark before it, so none looks like a head. */
function divideFiles(patch: string): readonly FileDiff[] {
  if (patch === "") return [];
  return patch.split(/^(?=diff --git )/m).map((text) => {
    const [head = ""] = text.split("\n", 1);
    return { name: nameOf(head) ?? head, text };
  });
}

/** Both names where they differ; undefined where they cannot be told apart. */
function nameOf(head: string): string | undefined {
  const same = /^diff --git a\/(.*) b\/\1$/.exec(head)?.[1];
  if (same !== undefined) return same;
  const [, from, to] = /^diff --git "?a\/(.*?)"? "?b\/(.*?)"?$/.exec(head) ?? [];
  return from === undefined || to === undefined ? undefined : from === to ? from : `${from} → ${to}`;
}

interface KnownDiff {
  readonly diff?: TurnPatch;
  readonly fault?: string;
}

function useDiff(turnId: string, state: string): KnownDiff {
  const [known, setKnown] = useState<KnownDiff>({});
  const renewed = renewals.value;
  useEffect(() => {
    if (state === "reading") {
      setKnown({ fault: "The turn has not ended: its diff is there when it has." });
      return undefined;
    }
    const controller = new AbortController();
    setKnown({});
    turnd.diff(turnId, { signal: controller.signal }).then(
      (diff) => setKnown({ diff }),
      (error: unknown) => {
        if (!controller.signal.aborted) setKnown({ fault: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => controller.abort();
  }, [turnId, state, renewed]);
  return known;
}
