import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { useOffsetTop } from "../../hooks/useOffsetTop";

const [MIN_WIDTH, GAP] = [330, 14]; // pixels

interface Props<T> {
  items: readonly T[];
  keyOf: (item: T) => string;
  children: (item: T) => ReactNode;
}

/** Cards in as many columns as fit, in reading order; only those on screen are drawn. */
export function VirtualCards<T>({ items, keyOf, children }: Props<T>) {
  const ref = useRef<HTMLDivElement>(null);
  const scrollMargin = useOffsetTop(ref);
  const [columns, setColumns] = useState(1);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const measure = () => {
      setColumns(Math.max(1, Math.floor((box.getBoundingClientRect().width + GAP) / (MIN_WIDTH + GAP))));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const rows = useWindowVirtualizer({
    count: Math.ceil(items.length / columns),
    estimateSize: () => 380,
    overscan: 2,
    scrollMargin,
    gap: GAP,
  });
  return (
    <div ref={ref} className="relative" style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map((row) => (
        <div
          key={row.key}
          ref={rows.measureElement}
          data-index={row.index}
          className="absolute inset-x-0 top-0 grid gap-3.5"
          style={{
            transform: `translateY(${String(row.start - scrollMargin)}px)`,
            gridTemplateColumns: `repeat(${String(columns)}, minmax(0, 1fr))`,
          }}
        >
          {items.slice(row.index * columns, (row.index + 1) * columns).map((item) => (
            <div key={keyOf(item)}>{children(item)}</div>
          ))}
        </div>
      ))}
    </div>
  );
}
