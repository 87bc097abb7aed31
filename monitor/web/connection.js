// A connection (queue pair) over time: the last hour from its agent, and then what it does now.
import { html, useEffect, useMemo, useState } from "./vendor/htm-preact.js";
import { api, to, usePoll } from "./data.js";
import { Chart, seriesCount } from "./chart.js";
import { bytes, count, duration, each, none, percent, qpName, rate } from "./format.js";
import { Crumbs, Finding, Number, Shares, Title, Trouble, Waiting, reasons } from "./parts.js";

const liveEvery = 2000;   // how often it is looked at
const whyEvery = 6000;    // how often it is asked what it waits for
const keptPoints = 4000;  // two hours of the former
const shownPaths = seriesCount - 1; // the others are one series
const height = 150;

// pointBetween is what a queue pair did between two looks, as agents have it in their history.
function pointBetween(now, before) {
  const q = now.queue_pair, b = before.queue_pair, since = (a, c) => Math.max(0, a - c);
  const paths = (q.paths || []).map((p, i) => {
    const old = (b.paths || [])[i] || { bytes: 0, lost: 0, marked: 0 };
    return { index: p.index, bytes: since(p.bytes, old.bytes), lost: since(p.lost, old.lost), marked: since(p.marked, old.marked), rtt_ns: p.rtt_ns, retired: p.retired };
  });
  return {
    at: now.at, took_ns: 1e6 * (new Date(now.at) - new Date(before.at)), tx_bytes: since(q.counters.tx_bytes, b.counters.tx_bytes), rx_bytes: since(q.counters.rx_bytes, b.counters.rx_bytes),
    retransmits: since(q.counters.retransmits, b.counters.retransmits), lost: Math.max(0, since(q.counters.mp_lost, b.counters.mp_lost) - since(q.counters.mp_spurious_retransmits, b.counters.mp_spurious_retransmits)), marked: paths.reduce((a, p) => a + p.marked, 0),
    rtt_ns: q.rtt_ns, window: q.window, in_flight: q.in_flight, paths: paths.filter((p) => p.bytes || p.lost),
  };
}

// usePoints joins the history and what is seen from now on.
function usePoints(path, qpn) {
  const history = usePoll(`${path}/history?qp=${qpn}`);
  const live = usePoll(`${path}/qp?qp=${qpn}`, liveEvery);
  const [seen, setSeen] = useState([]);
  useEffect(() => setSeen([]), [path, qpn]);
  useEffect(() => {
    if (live.now && live.before && live.now.at > live.before.at) setSeen((all) => [...all, pointBetween(live.now, live.before)].slice(-keptPoints));
  }, [live.now]);
  const old = history.now?.points || [];
  const last = old.length ? old[old.length - 1].at : "";
  return { history, live, points: [...old, ...seen.filter((p) => new Date(p.at) > new Date(last || 0))] };
}

// withGaps puts a point without data where nothing was seen for longer than three points take.
function withGaps(points) {
  const all = [];
  points.forEach((p, i) => {
    const before = points[i - 1];
    if (before && new Date(p.at) - p.took_ns / 1e6 - new Date(before.at) > 3000) all.push({ gap: true, at: new Date(+new Date(before.at) + 1) });
    all.push(p);
  });
  return all;
}

// specsOf are the charts of some points.
function specsOf(points) {
  const perSecond = (key) => points.map((p) => (p.gap ? null : p[key] / (p.took_ns / 1e9)));
  const carried = new Map();
  for (const p of points) for (const path of p.paths || []) carried.set(path.index, (carried.get(path.index) || 0) + path.bytes);
  const busiest = [...carried].sort((a, b) => b[1] - a[1]).map(([index]) => index);
  const shown = busiest.slice(0, shownPaths).sort((a, b) => a - b), many = busiest.length > shownPaths;
  const ofPath = (p, index) => (p.paths || []).find((x) => x.index === index);
  const second = (p) => p.took_ns / 1e9, bytesOf = (p, index) => ofPath(p, index)?.bytes || 0;
  const goodput = shown.map((index, i) => ({ label: "path " + index, style: i, values: points.map((p) => (p.gap ? null : bytesOf(p, index) / second(p))) }));
  if (many) { // agents do not keep all of many paths, but they keep the sum
    const others = (p) => Math.max(0, p.tx_bytes - shown.reduce((a, index) => a + bytesOf(p, index), 0));
    goodput.push({ label: "all others", style: shownPaths, values: points.map((p) => (p.gap ? null : others(p) / second(p))) });
  }
  const smoothed = { label: "smoothed, all paths", style: 0, values: points.map((p) => (p.gap ? null : p.rtt_ns || null)) };
  const extreme = (best) => points.map((p) => { const all = (p.paths || []).map((x) => x.rtt_ns).filter(Boolean); return all.length ? best(...all) : null; });
  const rtt = many || shown.length === 0
    ? [smoothed, ...(many ? [{ label: "slowest path", style: 1, values: extreme(Math.max) }, { label: "fastest path", style: 2, values: extreme(Math.min) }] : [])]
    : shown.map((index, i) => ({ label: "path " + index, style: i, values: points.map((p) => ofPath(p, index)?.rtt_ns || null) }));
  return [
    { title: "Goodput by path", height, format: rate, stacked: shown.length > 0, series: shown.length ? goodput : [{ label: "sent", style: 0, values: perSecond("tx_bytes") }] },
    { title: "Round trip", height, format: duration, series: rtt },
    { title: "Marks, loss and retransmissions", height, format: each, series: [
      { label: "marked by the network", style: 0, values: perSecond("marked") }, { label: "lost", style: 1, values: perSecond("lost") }, { label: "sent again", style: 2, values: perSecond("retransmits") }] },
    { title: "Window and packets in flight", height, format: count, series: [
      { label: "window", style: 0, values: points.map((p) => p.window ?? null) }, { label: "in flight", style: 1, values: points.map((p) => (p.gap || p.window === undefined ? null : p.in_flight || 0)) }] },
  ];
}

// ranges are how much of the past is shown.
const ranges = [["5 min", 300], ["1 h", 3600]];

export function Connection({ host, id, qpn, theme }) {
  const path = "host/" + api(host) + "/program/" + api(id);
  const { history, live, points } = usePoints(path, qpn);
  const [range, setRange] = useState(3600);
  const why = usePoll(`${path}/why?for=1s&qp=${qpn}`, whyEvery);
  const shown = useMemo(() => {
    const from = Date.now() - 1000 * range;
    return withGaps(points.filter((p) => new Date(p.at) >= from));
  }, [points.length, history.now, live.now, range]);
  const specs = useMemo(() => specsOf(shown), [shown]);
  const times = useMemo(() => shown.map((p) => new Date(p.at) / 1000), [shown]);
  const q = live.now?.queue_pair;
  const last = points[points.length - 1];
  const seconds = last ? last.took_ns / 1e9 : 0;
  const name = qpName(+qpn);
  return html`<${Crumbs} steps=${[["Hosts", to("hosts")], [host, to("host", host)], ["program " + id, to("host", host, "program", id)], [name]]} />
    <${Title}>Queue pair ${name} <span class="quiet">${q ? `${q.type}, ${q.state}${q.peer ? ", to " + q.peer : ""}` : none}</span><//>
    <ul class="numbers">
      <${Number} of="sent">${rate(last && last.tx_bytes / seconds)}<//><${Number} of="received">${rate(last && last.rx_bytes / seconds)}<//>
      <${Number} of="round trip">${q?.rtt_ns ? duration(q.rtt_ns) : none}<//><${Number} of="in flight, of a window of ${q?.window ? count(q.window) : none}">${q?.window ? count(q.in_flight || 0) : none}<//>
      <${Number} of="lost">${each(last && last.lost / seconds)}<//><${Number} of="paths in use">${q?.paths ? `${q.paths.filter((p) => !p.retired).length}/${q.paths.length}` : none}<//></ul>
    ${live.failed ? html`<${Trouble} error=${live.error} />` : ""}
    <h3>What it waits for</h3>
    <div class="waits"><${Waits} why=${why} qpn=${+qpn} /></div>
    <h3 class="with-choice">Over time <span class="choice" role="group" aria-label="time shown">${ranges.map(([text, s]) =>
      html`<button aria-pressed=${range === s ? "true" : "false"} onClick=${() => setRange(s)}>${text}</button>`)}</span></h3>
    <div class="charts">${specs.map((spec) => html`<${Chart} key=${spec.title} spec=${spec} times=${times} theme=${theme} />`)}</div>
    ${history.failed ? html`<p class="quiet">Its agent has no history of it: ${history.error}</p>` : history.now && history.now.points === null ? html`<p class="quiet">Its agent has no history of it: it is new, or not among the busiest. What you see began when you opened this.</p>` : ""}
    <h3>Paths</h3><${Paths} q=${q} last=${last} />`;
}

// Waits are the shares of the time for which it waited for something, and what follows.
function Waits({ why, qpn }) {
  if (!why.now) return why.failed ? html`<${Trouble} error=${why.error} />` : html`<${Waiting} what="Looking for a second…" lines=${6} />`;
  const q = why.now.evidence.queue_pairs.find((x) => x.number === qpn);
  const all = q ? Object.values(q.reasons).reduce((a, b) => a + b, 0) : 0;
  const parts = all ? Object.entries(q.reasons).sort((a, b) => b[1] - a[1]).map(([key, n]) => [key, n / all, reasons[key] || ""]) : [];
  return html`${parts.length ? html`<${Shares} parts=${parts} />` : html`<p class="quiet">No samples.</p>`}
    <div class="findings">${why.now.findings.map((f) => html`<${Finding} finding=${f} name=${f.queue_pair ? "" : "the whole program"} />`)}</div>
    <p class="quiet">From ${why.now.evidence.samples} samples in ${duration(why.now.evidence.took_ns)}; host: ${percent(why.now.evidence.host.busy)} of ${why.now.evidence.host.processors} processors busy.</p>
    ${why.failed ? html`<${Trouble} error=${why.error} />` : ""}`;
}

// Paths is the same as the charts in words, of now.
function Paths({ q, last }) {
  if (!q) return html`<${Waiting} lines=${6} />`;
  if (!q.paths) return html`<p class="quiet">A queue pair of this type has one path.</p>`;
  const seen = new Map((last?.paths || []).map((p) => [p.index, p])), seconds = last ? last.took_ns / 1e9 : 0;
  const per = (p, key) => (last ? (seen.get(p.index)?.[key] || 0) / seconds : undefined);
  return html`<div class="scroll most reserve"><table class="list"><thead><tr><th class="text">path</th><th class="text">state</th><th>goodput</th><th>round trip</th><th>marked</th><th>lost</th><th>all bytes</th><th>all lost</th></tr></thead>
    <tbody>${q.paths.map((p) => html`<tr class=${p.retired ? "gone" : ""}><td class="text">${p.index}</td><td class="text">${p.retired ? "✕ out of use" : "in use"}</td><td>${rate(per(p, "bytes"))}</td>
      <td>${p.rtt_ns ? duration(p.rtt_ns) : none}</td><td>${each(per(p, "marked"))}</td><td>${each(per(p, "lost"))}</td><td>${bytes(p.bytes)}</td><td>${count(p.lost)}</td></tr>`)}</tbody></table></div>`;
}
