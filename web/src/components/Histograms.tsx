import type { MarkHistogram } from "../api/types";
import { count, plural } from "../lib/format";

const [WIDE, HIGH, TOP, BOTTOM] = [300, 84, 14, 16];
const SHORT = 3; // characters of a text that stands under every bar; of longer ones only the ends' do

/** How often each value was given, side by side for several marks. */
export function Histograms({ histograms }: { histograms: readonly MarkHistogram[] }) {
  return (
    <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
      {histograms.map((one) => (
        <Histogram key={one.mark} histogram={one} />
      ))}
    </div>
  );
}

function Histogram({ histogram: { title, bars, answers } }: { histogram: MarkHistogram }) {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const step = WIDE / bars.length;
  const short = bars.every(({ text }) => text.length <= SHORT) || bars.length <= SHORT;
  const words = bars.filter((bar) => bar.count).map((one) => `${one.text}: ${count(one.count)}`);
  return (
    <figure className="panel min-w-0 px-3 py-2">
      <figcaption className="flex items-baseline justify-between gap-2">
        <span className="font-semibold first-letter:uppercase">{title}</span>
        <span className="eyebrow">{plural(answers, "answer")}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDE} ${TOP + HIGH + BOTTOM}`}
        className="h-auto w-full"
        role="img"
        aria-label={`${title}, how many answers have it. ${words.join("; ")}`}
      >
        <line x1={0} x2={WIDE} y1={TOP + HIGH} y2={TOP + HIGH} className="stroke-line" />
        {bars.map((bar, place) => {
          const high = (HIGH * bar.count) / most;
          const middle = step * (place + 0.5);
          const last = place === bars.length - 1;
          return (
            <g key={bar.text}>
              {bar.count ? (
                <>
                  <rect
                    x={step * place + 1.5}
                    y={TOP + HIGH - high}
                    width={step - 3}
                    height={high}
                    className="fill-accent/75"
                  >
                    <title>{`${bar.text}: ${count(bar.count)}`}</title>
                  </rect>
                  <text x={middle} y={TOP + HIGH - high - 3} textAnchor="middle" className="fill-soft text-[11px]">
                    {count(bar.count)}
                  </text>
                </>
              ) : null}
              {short || place === 0 || last ? (
                <text
                  x={short ? middle : last ? WIDE : 0}
                  y={TOP + HIGH + 13}
                  textAnchor={short ? "middle" : last ? "end" : "start"}
                  className="fill-faint text-[11px]"
                >
                  {bar.text}
                </text>
              ) : null}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
