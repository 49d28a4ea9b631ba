interface PlotAxis {
  ticks: readonly number[];
  at: (value: number) => number; // in pixels
  title: string;
}

interface Props {
  x: PlotAxis;
  y: PlotAxis;
  below?: number; // pixels between the plot and the title of the horizontal axis
}

/** Lines, numbers and titles of a plot's two axes; it reaches from their first ticks to their last. */
export function PlotGrid({ x, y, below = 31 }: Props) {
  const [left, right] = ends(x);
  const [bottom, top] = ends(y);
  return (
    <>
      {x.ticks.map((tick) => (
        <g key={tick}>
          <path d={`M${x.at(tick)} ${top}V${bottom}`} className="stroke-line" />
          <text x={x.at(tick)} y={bottom + 15} textAnchor="middle" className="fill-faint text-[11px]">
            {tick}
          </text>
        </g>
      ))}
      {y.ticks.map((tick) => (
        <g key={tick}>
          <path d={`M${left} ${y.at(tick)}H${right}`} className="stroke-line" />
          <text x={left - 7} y={y.at(tick) + 4} textAnchor="end" className="fill-faint text-[11px]">
            {tick}
          </text>
        </g>
      ))}
      <text x={(left + right) / 2} y={bottom + below} textAnchor="middle" className="fill-soft text-[12px]">
        {x.title}
      </text>
      <text
        transform={`translate(11 ${(top + bottom) / 2}) rotate(-90)`}
        textAnchor="middle"
        className="fill-soft text-[12px]"
      >
        {y.title}
      </text>
    </>
  );
}

function ends({ ticks, at }: PlotAxis): [number, number] {
  return [at(ticks[0] ?? 0), at(ticks.at(-1) ?? 0)];
}
