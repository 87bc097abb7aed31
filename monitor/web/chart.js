// Charts over time, by uPlot, with a legend in words that follows the pointer.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { clock } from "./format.js";

// styles are how series differ: by colour (those of Okabe and Ito, which differ for everybody) and by dashes.
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4], [2, 6], [6, 2, 2, 2], []];
export const seriesCount = dashes.length;

// resolve is a colour of the style sheet as a canvas takes it, light or dark as it is now.
function resolve(element, name) {
  element.style.color = `var(${name})`;
  const colour = getComputedStyle(element).color;
  element.style.color = "";
  return colour;
}

function options(place, spec, width, hover) {
  const line = resolve(place, "--line"), text = resolve(place, "--quiet");
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width, height: spec.height, padding: [8, 8, 0, 0], legend: { show: false },
    cursor: { sync: { key: "time" }, drag: { x: false, y: false }, points: { size: 5 } },
    hooks: { setCursor: [(u) => hover(u.cursor.idx)] },
    scales: { x: { time: true, range: (_, low, high) => (low === null ? [Date.now() / 1000 - 60, Date.now() / 1000] : [Math.min(low, high - 60), high]) }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [
      { ...axis, size: 30, space: 80, values: (_, all) => all.map((t) => clock(t * 1000)) },
      { ...axis, size: 82, space: 28, values: (_, all) => all.map((v) => spec.format(v).replace(/\.0+(?= |$)/, "")) },
    ],
    series: [{}, ...spec.series.map((s) => {
      const colour = resolve(place, `--series-${s.style}`);
      return { label: s.label, stroke: colour, width: 1.5, dash: spec.stacked ? [] : dashes[s.style], fill: spec.stacked ? colour : undefined, points: { size: 4 }, spanGaps: false };
    })],
  };
}

// Chart shows series of a spec: { title, height, format, stacked, series: [{ label, style, values }] } over times in seconds. A value that is
// null is a gap: there is no data. Series that are stacked are drawn from the sum of all down to the first alone.
export function Chart({ spec, times, theme }) {
  const place = useRef(null), plot = useRef(null);
  const [at, setAt] = useState(null);
  const drawn = spec.stacked ? stack(spec.series) : spec.series.map((s) => s.values);
  const data = [times, ...drawn];
  const shape = spec.series.map((s) => s.label + s.style).join() + theme;
  useEffect(() => {
    const element = place.current;
    const u = new uPlot(options(element, { ...spec, series: spec.stacked ? [...spec.series].reverse() : spec.series }, element.clientWidth, setAt), data, element);
    plot.current = u;
    const sized = new ResizeObserver(() => u.setSize({ width: element.clientWidth, height: spec.height }));
    sized.observe(element);
    return () => { sized.disconnect(); u.destroy(); };
  }, [shape]);
  useEffect(() => { plot.current?.setData(data); }, [times, shape]);
  const last = times.length - 1, index = at === null || at === undefined || at > last ? last : at;
  return html`<figure class="chart" data-points=${times.length}><figcaption><b>${spec.title}</b> <span class="quiet">${last < 0 ? "no data yet" : clock(times[index] * 1000)}</span></figcaption>
    <div ref=${place} class="plot" role="img" aria-label="${spec.title} over time"></div>
    <ul class="keys">${spec.series.map((s) => html`<li><${Sample} style=${s.style} solid=${spec.stacked} />${s.label} <b>${last < 0 ? spec.format(undefined) : spec.format(s.values[index] ?? undefined)}</b></li>`)}</ul></figure>`;
}

// stack adds up series, and returns the sum of all first.
function stack(series) {
  const sums = [];
  series.forEach((s, i) => sums.push(s.values.map((v, k) => (v === null ? null : v + (i ? sums[i - 1][k] ?? 0 : 0)))));
  return sums.reverse();
}

// Sample is how a series looks.
const Sample = ({ style, solid }) => html`<svg class="sample" width="22" height="10" aria-hidden="true">${solid
  ? html`<rect class="series-${style}" x="3" y="0" width="16" height="10" />`
  : html`<line class="series-${style}" x1="0" y1="5" x2="22" y2="5" stroke-width="2" stroke-dasharray=${dashes[style].join(" ")} />`}</svg>`;
