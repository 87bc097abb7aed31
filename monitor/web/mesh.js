// Overview, mesh and the list of hosts: what the monitor knows by itself.
import { html, useState } from "./vendor/htm-preact.js";
import { to } from "./data.js";
import { ago, micros, none, percent } from "./format.js";
import { Alarm, Crumbs, Events, Number, Title } from "./parts.js";

// sum adds up cells of the mesh.
const sum = (cells) => (cells || []).reduce((a, c) => ({ sent: a.sent + c.sent, lost: a.lost + c.lost, network_ns: Math.max(a.network_ns, c.network_ns) }), { sent: 0, lost: 0, network_ns: 0 });
const lossOf = (s) => (s.sent ? percent(s.lost / s.sent) : none);

// looks is how a cell is shown: a class, a short text and one for those who do not see it.
function looks(c) {
  if (!c || c.sent === 0) return ["cell-none", "?", "no data"];
  const loss = c.lost / c.sent;
  const says = `${percent(loss)} lost of ${c.sent} probes, 99th percentile ${micros(c.network_ns)} µs`;
  if (loss > 0.02) return ["cell-bad", "✕ " + percent(loss), says];
  if (loss > 0) return ["cell-warn", "! " + percent(loss), says];
  return ["cell-good", micros(c.network_ns), says];
}

const Cell = ({ cell, name, href }) => {
  const [kind, text, says] = looks(cell);
  return html`<td><a class=${kind} href=${href} title="${name}: ${says}" aria-label="${name}: ${says}">${text}</a></td>`;
};

const Legend = () => html`<div class="legend">
  <span><i class="cell-good">12.3</i> no loss: µs, 99th percentile</span>
  <span><i class="cell-warn">! 0.5 %</i> some loss</span>
  <span><i class="cell-bad">✕ 40 %</i> more than 2 % lost</span>
  <span><i class="cell-none">?</i> no data</span>
  <span><i>·</i> not probed</span>
</div>`;

// Matrix shows who sees whom: rows probe, columns reply.
const Matrix = ({ rows, columns, cell, href }) => html`<div class="scroll"><table class="mesh">
  <thead><tr><th class="text">from \\ to</th>${columns.map((c) => html`<th scope="col" title=${c}>${c}</th>`)}</tr></thead>
  <tbody>${rows.map((r) => html`<tr><th scope="row" title=${r}>${r}</th>${columns.map((c) => {
    const found = cell(r, c);
    return found === undefined ? html`<td><span class="cell-self" aria-label="not probed">·</span></td>` : html`<${Cell} cell=${found} name="${r} to ${c}" href=${href(r, c)} />`;
  })}</tr>`)}</tbody>
</table></div>`;

export function Overview({ state }) {
  const all = sum(state.mesh);
  const stale = state.hosts.filter((h) => h.stale).length;
  const kind = state.alarms.length ? "bad" : all.sent === 0 ? "none" : stale || all.lost / all.sent > 0.02 ? "warn" : "good";
  const words = {
    bad: `${state.alarms.length} ${state.alarms.length === 1 ? "thing is" : "things are"} wrong`, warn: "There is no alarm yet, but not all is well", none: "Nothing is known yet", good: "All is well",
  }[kind];
  return html`
    <p class="status" role="status"><span class="mark ${kind}" aria-hidden="true">${{ good: "✓", bad: "✕", warn: "!", none: "?" }[kind]}</span> ${words}</p>
    <ul class="numbers">
      <${Number} of="hosts">${state.hosts.length}<//>
      <${Number} of="do not report">${stale}<//>
      <${Number} of="of ${all.sent} probes lost">${lossOf(all)}<//>
      <${Number} of="slowest 99th percentile">${all.sent ? micros(all.network_ns) + " µs" : none}<//>
    </ul>
    <section class="alarms" aria-label="alarms" aria-live="polite">${state.alarms.length === 0 ? html`<p class="quiet">No alarm.</p>`
      : state.alarms.map((a) => html`<${Alarm} alarm=${a} now=${state.at} />`)}</section>
    <h3>Racks</h3><${Racks} state=${state} />
    <h3>What has happened</h3><${Events} events=${state.events.slice(-8).reverse()} />
    <p><a href=${to("events")}>All events</a></p>`;
}

// Racks is the mesh rack by rack.
function Racks({ state }) {
  const racks = [...new Set(state.rackOf.values())].sort();
  const hosts = new Map();
  for (const rack of state.rackOf.values()) hosts.set(rack, (hosts.get(rack) || 0) + 1);
  const cells = new Map();
  for (const c of state.mesh) {
    const key = JSON.stringify([state.rackOf.get(c.from), state.rackOf.get(c.to)]);
    cells.set(key, [...(cells.get(key) || []), c]);
  }
  if (racks.length === 0) return html`<p class="quiet">No agent has joined.</p>`;
  const cell = (a, b) => { const some = cells.get(JSON.stringify([a, b])); return some ? sum(some) : a === b && hosts.get(a) < 2 ? undefined : null; };
  return html`<${Legend} /><${Matrix} rows=${racks} columns=${racks} href=${(a, b) => to("mesh", a, b)} cell=${cell} />`;
}

// Mesh is all racks, or two of them host by host.
export function Mesh({ state, from, into }) {
  if (!from) return html`<${Title}>Mesh<//><${Racks} state=${state} />`;
  const inRack = (rack) => state.hosts.filter((h) => (h.rack || h.name) === rack).map((h) => h.name);
  const stale = new Set(state.hosts.filter((h) => h.stale).map((h) => h.name));
  const cell = (a, b) => (stale.has(a) ? (a === b ? undefined : null) : (state.from.get(a) || []).find((c) => c.to === b));
  return html`<${Crumbs} steps=${[["Mesh", to("mesh")], [`${from} to ${into}`]]} /><${Title}>${from} to ${into}<//>
    <${Legend} /><${Matrix} rows=${inRack(from)} columns=${inRack(into)} cell=${cell} href=${(a) => to("host", a)} />`;
}

// shownHosts is how many rows a list has before somebody searches.
const shownHosts = 200;

export function Hosts({ state }) {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const found = state.hosts.filter((h) => `${h.name} ${h.rack} ${h.addr}`.toLowerCase().includes(wanted));
  return html`<${Title}>Hosts<//>
    <p><label>Search <input data-filter type="search" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="name, rack or address" /></label>
      <span class="quiet"> ${found.length} of ${state.hosts.length}${found.length > shownHosts ? `, the first ${shownHosts} shown` : ""}</span></p>
    <div class="scroll"><table class="list">
    <thead><tr><th class="text">host</th><th class="text">rack</th><th class="text">address</th><th>lost, from</th><th>lost, to</th><th>last report</th><th>clock</th></tr></thead>
    <tbody>${found.slice(0, shownHosts).map((h) => html`<tr class=${h.stale ? "gone" : ""}>
      <td class="text"><a href=${to("host", h.name)}>${h.name}</a></td><td class="text">${h.rack || none}</td><td class="text">${h.addr}</td>
      <td>${h.stale ? none : lossOf(sum(state.from.get(h.name)))}</td><td>${lossOf(sum(state.to.get(h.name)))}</td>
      <td>${h.stale ? html`<span class="mark warn" aria-hidden="true">!</span> ` : ""}${ago(h.last, state.at)} ago</td><td>${h.clock_ns ? Math.round(h.clock_ns / 1e9) + " s ahead" : "right"}</td></tr>`)}</tbody></table></div>`;
}

// Probes is what a host sees of others, or they of it.
export function Probes({ state, name, mine, theirs }) {
  const cells = state[mine].get(name) || [];
  if (cells.length === 0) return html`<p class="quiet">No data.</p>`;
  return html`<div class="scroll"><table class="list">
    <thead><tr><th class="text">host</th><th>probes</th><th>lost</th><th>99th percentile, µs</th></tr></thead>
    <tbody>${cells.map((c) => html`<tr><td class="text"><a href=${to("host", c[theirs])}>${c[theirs]}</a></td>
      <td>${c.sent}</td><td>${c.lost ? "✕ " : ""}${percent(c.lost / c.sent)}</td><td>${c.lost < c.sent ? micros(c.network_ns) : none}</td></tr>`)}</tbody></table></div>`;
}
