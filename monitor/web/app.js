import { html, render, useEffect, useState } from "./vendor/htm-preact.js";

// ---- state ----

// useMonitor keeps the state of the monitor up to date: it is fetched when the monitor says that there is news.
function useMonitor() {
  const [state, setState] = useState(null);
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const load = () => fetch("api/state").then((r) => r.json()).then((s) => { setState(s); setLost(false); }).catch(() => setLost(true));
    load();
    const news = new EventSource("api/news");
    news.addEventListener("news", load);
    news.onerror = () => setLost(true);
    news.onopen = () => setLost(false);
    return () => news.close();
  }, []);
  return [state, lost];
}

// usePlace is the part of the address behind the #, which says what is shown.
function usePlace() {
  const read = () => decodeURIComponent(location.hash.replace(/^#\/?/, "")).split("/");
  const [place, setPlace] = useState(read());
  useEffect(() => {
    const changed = () => setPlace(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

const to = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

// ---- numbers ----

const time = (t) => new Date(t).toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
const micros = (ns) => (ns / 1000 < 100 ? (ns / 1000).toFixed(1) : Math.round(ns / 1000).toString());
const percent = (x) => (x === 0 ? "0 %" : x < 0.001 ? "<0.1 %" : (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %");
const ago = (t, now) => {
  const s = Math.max(0, Math.round((new Date(now) - new Date(t)) / 1000));
  return s < 120 ? s + " s" : s < 7200 ? Math.round(s / 60) + " min" : Math.round(s / 3600) + " h";
};

// sum adds up cells of the mesh.
const sum = (cells) => cells.reduce((a, c) => ({ sent: a.sent + c.sent, lost: a.lost + c.lost, network_ns: Math.max(a.network_ns, c.network_ns) }), { sent: 0, lost: 0, network_ns: 0 });

// looks is how a cell is shown: a class, a short text and one for those who do not see it.
function looks(c) {
  if (!c || c.sent === 0) return ["cell-none", "?", "no data"];
  const loss = c.lost / c.sent;
  const says = `${percent(loss)} lost of ${c.sent} probes, 99th percentile ${micros(c.network_ns)} µs`;
  if (loss > 0.02) return ["cell-bad", percent(loss), says];
  if (loss > 0) return ["cell-warn", percent(loss), says];
  return ["cell-good", micros(c.network_ns), says];
}

// ---- parts ----

const Cell = ({ cell, name, href }) => {
  const [kind, text, says] = looks(cell);
  return html`<td><a class=${kind} href=${href} title="${name}: ${says}" aria-label="${name}: ${says}">${text}</a></td>`;
};

const Legend = () => html`<div class="legend">
  <span><i class="cell-good">12.3</i> no loss: µs, 99th percentile</span>
  <span><i class="cell-warn">0.5 %</i> some loss</span>
  <span><i class="cell-bad">40 %</i> more than 2 % lost</span>
  <span><i class="cell-none">?</i> no data</span>
</div>`;

// Matrix shows who sees whom: rows probe, columns reply.
const Matrix = ({ rows, columns, cell, href }) => html`<div class="scroll"><table class="mesh">
  <thead><tr><th class="text">from \\ to</th>${columns.map((c) => html`<th scope="col">${c}</th>`)}</tr></thead>
  <tbody>${rows.map((r) => html`<tr><th scope="row">${r}</th>${columns.map((c) => {
    const found = cell(r, c);
    return found === undefined ? html`<td><span class="cell-self" aria-label="not probed">·</span></td>` : html`<${Cell} cell=${found} name="${r} to ${c}" href=${href(r, c)} />`;
  })}</tr>`)}</tbody>
</table></div>`;

const Alarm = ({ alarm, now }) => html`<article class="alarm">
  <div><strong>${alarm.blame}: ${alarm.of}</strong></div>
  <div>${alarm.says}</div>
  <div class="meta">since ${time(alarm.since)} (${ago(alarm.since, now)})</div>
</article>`;

const Events = ({ events }) => html`<div class="scroll"><table class="list">
  <thead><tr><th class="text">time</th><th class="text">what</th></tr></thead>
  <tbody>${[...events].reverse().map((e) => html`<tr><td class="text">${time(e.at)}</td>
    <td class="wrap">${e.alarm ? html`<strong>${e.alarm.ended ? "ended: " : "alarm: "}</strong>` : ""}${e.says}</td></tr>`)}</tbody>
</table></div>`;

// ---- views ----

function Overview({ state }) {
  const all = sum(state.mesh);
  const stale = state.hosts.filter((h) => h.stale).length;
  const alarms = state.alarms || [];
  const kind = alarms.length ? "bad" : state.hosts.length === 0 || all.sent === 0 ? "none" : "good";
  const words = alarms.length ? `${alarms.length} ${alarms.length === 1 ? "thing is" : "things are"} wrong` : kind === "none" ? "Nothing is known yet" : "All is well";
  return html`
    <p class="status ${kind}" role="status"><span class="mark" aria-hidden="true">${{ good: "✓", bad: "✕", none: "?" }[kind]}</span>${words}</p>
    <ul class="numbers">
      <li><b>${state.hosts.length}</b><span>hosts</span></li>
      <li><b>${stale}</b><span>do not report</span></li>
      <li><b>${percent(all.sent ? all.lost / all.sent : 0)}</b><span>of ${all.sent} probes lost</span></li>
      <li><b>${all.sent ? micros(all.network_ns) + " µs" : "–"}</b><span>slowest 99th percentile</span></li>
    </ul>
    ${alarms.map((a) => html`<${Alarm} alarm=${a} now=${state.at} />`)}
    <h2>Racks</h2><${Racks} state=${state} />
    <h2>What has happened</h2><${Events} events=${(state.events || []).slice(-8)} />`;
}

// Racks is the mesh rack by rack.
function Racks({ state }) {
  const rackOf = Object.fromEntries(state.hosts.map((h) => [h.name, h.rack || h.name]));
  const racks = [...new Set(state.hosts.map((h) => h.rack || h.name))].sort();
  const cells = {};
  for (const c of state.mesh) {
    const key = JSON.stringify([rackOf[c.from], rackOf[c.to]]);
    (cells[key] = cells[key] || []).push(c);
  }
  if (racks.length === 0) return html`<p>No agent has joined.</p>`;
  return html`<${Legend} /><${Matrix} rows=${racks} columns=${racks} href=${(a, b) => to("mesh", a, b)}
    cell=${(a, b) => { const some = cells[JSON.stringify([a, b])]; return some ? sum(some) : a === b && state.hosts.filter((h) => (h.rack || h.name) === a).length < 2 ? undefined : null; }} />`;
}

// Mesh is two racks host by host.
function Mesh({ state, from, into }) {
  if (!from) return html`<h2>Racks</h2><${Racks} state=${state} />`;
  const inRack = (rack) => state.hosts.filter((h) => (h.rack || h.name) === rack);
  const cells = Object.fromEntries(state.mesh.map((c) => [JSON.stringify([c.from, c.to]), c]));
  const stale = Object.fromEntries(state.hosts.map((h) => [h.name, h.stale]));
  return html`<h2>${from} to ${into}</h2><${Legend} /><${Matrix} rows=${inRack(from).map((h) => h.name)} columns=${inRack(into).map((h) => h.name)}
    cell=${(a, b) => (stale[a] ? null : cells[JSON.stringify([a, b])])} href=${(a) => to("host", a)} />
    <p><a href=${to("mesh")}>All racks</a></p>`;
}

function Hosts({ state }) {
  return html`<h2>Hosts</h2><div class="scroll"><table class="list">
    <thead><tr><th class="text">host</th><th class="text">rack</th><th class="text">address</th><th>probes lost, from</th><th>to</th><th>last report</th><th>clock</th></tr></thead>
    <tbody>${state.hosts.map((h) => {
      const out = sum(state.mesh.filter((c) => c.from === h.name)), back = sum(state.mesh.filter((c) => c.to === h.name));
      return html`<tr class=${h.stale ? "gone" : ""}><td class="text"><a href=${to("host", h.name)}>${h.name}</a></td><td class="text">${h.rack}</td><td class="text">${h.addr}</td>
        <td>${h.stale ? "?" : percent(out.sent ? out.lost / out.sent : 0)}</td><td>${back.sent ? percent(back.lost / back.sent) : "?"}</td>
        <td>${ago(h.last, state.at)} ago</td><td>${h.clock_ns ? Math.round(h.clock_ns / 1e9) + " s" : "right"}</td></tr>`;
    })}</tbody></table></div>`;
}

function HostView({ state, name }) {
  const h = state.hosts.find((x) => x.name === name);
  if (!h) return html`<h2>${name}</h2><p>No agent of this name has joined.</p>`;
  const pairs = (mine, theirs) => html`<div class="scroll"><table class="list">
    <thead><tr><th class="text">host</th><th>probes</th><th>lost</th><th>99th percentile, µs</th></tr></thead>
    <tbody>${state.mesh.filter((c) => c[mine] === name).map((c) => html`<tr><td class="text"><a href=${to("host", c[theirs])}>${c[theirs]}</a></td>
      <td>${c.sent}</td><td>${percent(c.lost / c.sent)}</td><td>${c.lost < c.sent ? micros(c.network_ns) : "–"}</td></tr>`)}</tbody></table></div>`;
  return html`<h2>${h.name}</h2>
    <ul class="numbers"><li><b>${h.rack || "–"}</b><span>rack</span></li><li><b>${h.addr}</b><span>address</span></li>
      <li><b>${h.stale ? "no" : "yes"}</b><span>reports, last ${ago(h.last, state.at)} ago</span></li></ul>
    ${(state.alarms || []).filter((a) => a.of === name).map((a) => html`<${Alarm} alarm=${a} now=${state.at} />`)}
    <h2>What it sees</h2>${h.stale ? html`<p>It does not report.</p>` : pairs("from", "to")}
    <h2>How others see it</h2>${pairs("to", "from")}`;
}

// ---- the page ----

const pages = [["", "Overview"], ["mesh", "Mesh"], ["hosts", "Hosts"], ["events", "Events"]];

// Theme switches between what the system has, light and dark, and remembers it.
function Theme() {
  const themes = ["auto", "light", "dark"];
  const [theme, setTheme] = useState(localStorage.getItem("theme") || "auto");
  useEffect(() => {
    document.documentElement.className = theme === "auto" ? "" : theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  return html`<button onClick=${() => setTheme(themes[(themes.indexOf(theme) + 1) % 3])} title="light or dark">${theme}</button>`;
}

function App() {
  const [state, lost] = useMonitor();
  const [page, a, b] = usePlace();
  useEffect(() => {
    const keys = (e) => { if (!e.ctrlKey && !e.metaKey && !e.altKey && pages[e.key - 1]) location.hash = "/" + pages[e.key - 1][0]; };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const view = !state ? html`<p class="loading">Loading…</p>`
    : page === "mesh" ? html`<${Mesh} state=${state} from=${a} into=${b} />`
    : page === "hosts" ? html`<${Hosts} state=${state} />`
    : page === "host" ? html`<${HostView} state=${state} name=${a} />`
    : page === "events" ? html`<h2>Events</h2><${Events} events=${state.events || []} />`
    : html`<${Overview} state=${state} />`;
  return html`<header><h1>braid monitor</h1>
      <nav aria-label="views">${pages.map(([name, title], i) => html`<a href="#/${name}" aria-current=${(page || "") === name ? "page" : undefined} title="key ${i + 1}">${title}</a>`)}</nav>
      <span class="right">${lost ? "the monitor is away" : state ? "as of " + new Date(state.at).toLocaleTimeString() : ""} <${Theme} /></span></header>
    <main>${view}</main>`;
}

const place = document.getElementById("app");
place.textContent = "";
render(html`<${App} />`, place);
