import { signal, useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatAge, formatDuration } from "../text/format.ts";

const SECOND_MS = 1_000;
/** Ages are shown in minutes. */
const AGE_MS = 15_000;

/** Now, to the second. */
export const second = signal(Date.now());
const moment = signal(Date.now());

/** Moves the clocks of the page. */
export function useClocks(): void {
  useEffect(() => {
    const timers = [
      setInterval(() => void (second.value = Date.now()), SECOND_MS),
      setInterval(() => void (moment.value = Date.now()), AGE_MS),
    ];
    return () => timers.forEach(clearInterval);
  }, []);
}

/** How long ago something was. */
export function Age({ since }: { readonly since: string }) {
  return <span>{useComputed(() => formatAge(since, moment.value))}</span>;
}

/** How long a turn has run, or runs. */
export function Running({ from, to }: { readonly from: string; readonly to: string | undefined }) {
  if (to === undefined) return <RunsStill from={from} />;
  return <span>{durationOf(from, Date.parse(to))}</span>;
}

function RunsStill({ from }: { readonly from: string }) {
  return <span>{useComputed(() => durationOf(from, second.value))}</span>;
}

function durationOf(from: string, toMs: number): string {
  return formatDuration(Math.max(0, toMs - Date.parse(from)));
}
