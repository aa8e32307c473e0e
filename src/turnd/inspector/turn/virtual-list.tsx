import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface VirtualListProps {
  readonly count: number;
  /** Pixels, before an item has been measured. */
  readonly estimate: number;
  readonly label: string;
  /** Stays at the end while items are added, once a reader is there. */
  readonly isFollowing: boolean;
  /** An item to be brought into view and given the focus: once for each object. */
  readonly goTo: { readonly index: number } | undefined;
  keyOf(index: number): string | number;
  render(index: number): ComponentChildren;
  onKeyDown(event: KeyboardEvent): void;
  /** Whether the end is in view has changed. */
  onAtEnd?(isAtEnd: boolean): void;
}

/** Pixels. */
const NEAR_END = 40;

/** A list of which only what is seen is in the document, however many items it has and however tall they are. */
export function VirtualList(props: VirtualListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer(scroller, props);
  const { goTo, count, isFollowing, onAtEnd } = props;
  /** What is to have the focus as soon as it is in the document. */
  const wanted = useRef<number | undefined>(undefined);
  const lastTop = useRef(0);

  useLayoutEffect(() => {
    if (isFollowing && count > 0) list.scrollToIndex(count - 1, { align: "end" });
  }, [count, isFollowing, list]);
  useLayoutEffect(() => {
    if (goTo === undefined) return;
    wanted.current = goTo.index;
    list.scrollToIndex(goTo.index, { align: "auto" });
  }, [goTo, list]);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const item = scroller.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] > article`);
    if (item === null || item === undefined) return;
    wanted.current = undefined;
    item.focus({ preventScroll: true });
    // In a low window the list itself may be out of view.
    scroller.current?.scrollIntoView({ block: "nearest" });
  });

  const items = list.getVirtualItems();
  const first = items[0];
  return (
    <div
      ref={scroller}
      class="virtual"
      role="feed"
      aria-label={props.label}
      aria-busy={isFollowing}
      onKeyDown={props.onKeyDown}
      onScroll={({ currentTarget: { scrollTop } }) => {
        const isUpwards = scrollTop < lastTop.current - 2;
        lastTop.current = scrollTop;
        // Items that grow move the end away from a reader who stays there; only going up leaves it.
        if (isUpwards || list.isAtEnd(NEAR_END)) onAtEnd?.(list.isAtEnd(NEAR_END));
      }}
    >
      <div class="virtual-space" style={{ height: `${list.getTotalSize()}px` }}>
        <div class="virtual-window" style={{ transform: `translateY(${first?.start ?? 0}px)` }}>
          {items.map((item: VirtualItem) => (
            <div key={item.key} data-index={item.index} ref={list.measureElement}>
              {props.render(item.index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function useVirtualizer(
  scroller: RefObject<HTMLDivElement | null>,
  { count, estimate, keyOf }: VirtualListProps,
): Virtualizer<HTMLDivElement, HTMLDivElement> {
  const [, render] = useReducer((times: number) => times + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: keyOf,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    measureElement,
    onChange: () => render(undefined),
  };
  const [list] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  list.setOptions(options);
  // eslint-disable-next-line no-underscore-dangle -- what its adapters for other libraries call
  useLayoutEffect(() => list._didMount(), [list]);
  // eslint-disable-next-line no-underscore-dangle -- the same
  useLayoutEffect(() => list._willUpdate());
  return list;
}
