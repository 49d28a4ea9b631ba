import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { useTop } from "../../parts/useTop";

const [NARROWEST, GAP] = [330, 14]; // pixels

interface Props {
  count: number;
  keyOf: (place: number) => string;
  children: (place: number) => ReactNode;
}

/** Cards in as many columns as fit, in reading order; only those that are seen are drawn. */
export function Cards({ count, keyOf, children }: Props) {
  const at = useRef<HTMLDivElement>(null);
  const margin = useTop(at);
  const [across, setAcross] = useState(1);
  useLayoutEffect(() => {
    const box = at.current;
    if (!box) return;
    const measure = () => {
      setAcross(Math.max(1, Math.floor((box.getBoundingClientRect().width + GAP) / (NARROWEST + GAP))));
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box);
    return () => {
      watch.disconnect();
    };
  }, []);
  const rows = useWindowVirtualizer({
    count: Math.ceil(count / across),
    estimateSize: () => 380,
    overscan: 2,
    scrollMargin: margin,
    gap: GAP,
  });
  return (
    <div ref={at} className="relative" style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map((row) => (
        <div
          key={row.key}
          ref={rows.measureElement}
          data-index={row.index}
          className="absolute inset-x-0 top-0 grid gap-3.5"
          style={{
            transform: `translateY(${String(row.start - margin)}px)`,
            gridTemplateColumns: `repeat(${String(across)}, minmax(0, 1fr))`,
          }}
        >
          {Array.from({ length: Math.min(across, count - row.index * across) }, (_, column) => {
            const place = row.index * across + column;
            return <div key={keyOf(place)}>{children(place)}</div>;
          })}
        </div>
      ))}
    </div>
  );
}
