// Overview, mesh and the list of hosts: what the monitor knows by itself.
import { html, useState } from "./vendor/htm-preact.js";
import { api, to, usePoll } from "./data.js";
import { ago, bytes, count, micros, none, percent, time } from "./format.js";
import { Alarm, Crumbs, Events, Number, Title, Trouble, Waiting } from "./parts.js";

const lossOf = (sent, lost) => (sent ? percent(lost / sent) : none);

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
  const all = state.total;
  const stale = state.hosts.filter((h) => h.stale).length;
  const kind = state.alarms.length ? "bad" : all.sent === 0 ? "none" : stale || !state.store.up || all.lost / all.sent > 0.02 ? "warn" : "good";
  const words = {
    bad: `${state.alarms.length} ${state.alarms.length === 1 ? "thing is" : "things are"} wrong`, warn: "There is no alarm yet, but not all is well", none: "Nothing is known yet", good: "All is well",
  }[kind];
  return html`
    <p class="status" role="status"><span class="mark ${kind}" aria-hidden="true">${{ good: "✓", bad: "✕", warn: "!", none: "?" }[kind]}</span> ${words}</p>
    <ul class="numbers">
      <${Number} of="hosts">${state.hosts.length}<//>
      <${Number} of="do not report">${stale}<//>
      <${Number} of="of ${all.sent} probes lost">${lossOf(all.sent, all.lost)}<//>
      <${Number} of="slowest 99th percentile">${all.sent > all.lost ? micros(all.network_ns) + " µs" : none}<//>
    </ul>
    <section class="alarms" aria-label="alarms" aria-live="polite">${state.alarms.length === 0 ? html`<p class="quiet">No alarm.</p>`
      : state.alarms.map((a) => html`<${Alarm} alarm=${a} now=${state.at} />`)}<${Store} store=${state.store} /></section>
    <h3>Racks</h3><${Racks} state=${state} />
    <${Switches} ports=${state.switches} />
    <h3>What has happened</h3><${Events} events=${state.events.slice(-8).reverse()} />
    <p><a href=${to("events")}>All events</a></p>`;
}

// Store tells what is wrong with what the monitor keeps; nothing, if nothing is.
const Store = ({ store }) => html`
  ${store.up ? "" : html`<${Trouble} error=${`${store.says} (since ${time(store.since)})`} />`}
  ${(store.set_aside || []).map((where) => html`<${Trouble} error=${`What was damaged is set aside in ${where}.`} />`)}`;

// Switches are the ports that dropped packets, where agents can tell.
function Switches({ ports }) {
  const bad = (ports || []).filter((p) => p.dropped > 0).slice(0, 10);
  if (!ports) return null;
  return html`<h3>Switches</h3>${bad.length === 0 ? html`<p class="quiet">None of ${ports.length} ports dropped a packet in the last window.</p>` : html`<div class="scroll"><table class="list">
    <thead><tr><th class="text">switch</th><th class="text">port</th><th>packets</th><th>dropped</th><th>marked</th><th>pauses</th><th>bytes</th></tr></thead>
    <tbody>${bad.map((p) => html`<tr><td class="text">${p.switch}</td><td class="text">${p.port}</td><td>${count(p.packets)}</td><td>✕ ${lossOf(p.packets, p.dropped)}</td>
      <td>${lossOf(p.packets, p.marked)}</td><td>${count(p.pauses)}</td><td>${bytes(p.bytes)}</td></tr>`)}</tbody></table></div>`}`;
}

// shownRacks is how many racks a matrix has: of more, those that lose most.
const shownRacks = 64;

// Racks is the mesh rack by rack.
function Racks({ state }) {
  const [text, setText] = useState("");
  const now = state.racks;
  if (state.hosts.length === 0) return html`<p class="quiet">No agent has joined.</p>`;
  if (now.racks.length === 0) return html`<p class="quiet">The first window has not ended yet.</p>`;
  const cells = new Map(now.cells.map(([a, b, sent, lost, network_ns]) => [a + " " + b, { sent, lost, network_ns }]));
  const losses = now.racks.map(() => 0);
  for (const [a, b, , lost] of now.cells) { losses[a] += lost; losses[b] += lost; }
  const found = now.racks.map((name, i) => [name, i]).filter(([name]) => name.toLowerCase().includes(text.toLowerCase()));
  const shown = found.sort((a, b) => losses[b[1]] - losses[a[1]]).slice(0, shownRacks).sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const index = new Map(shown);
  const names = shown.map(([name]) => name);
  const cell = (a, b) => cells.get(index.get(a) + " " + index.get(b)) || (a === b && now.hosts[index.get(a)] < 2 ? undefined : null);
  return html`${now.racks.length > shownRacks ? html`<p><label>Search <input data-filter type="search" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="rack" /></label>
      <span class="quiet"> ${found.length} of ${now.racks.length} racks${found.length > shownRacks ? `, the ${shownRacks} that lose most are shown` : ""}</span></p>` : ""}
    <${Legend} /><${Matrix} rows=${names} columns=${names} href=${(a, b) => to("mesh", a, b)} cell=${cell} />`;
}

// Mesh is all racks, or two of them host by host.
export function Mesh({ state, from, into }) {
  if (!from) return html`<${Title}>Mesh<//><${Racks} state=${state} />`;
  return html`<${Crumbs} steps=${[["Mesh", to("mesh")], [`${from} to ${into}`]]} /><${Title}>${from} to ${into}<//><${TwoRacks} state=${state} from=${from} into=${into} />`;
}

// useCells is what some cells of the mesh are: of the state, or asked for where there are too many for that.
function useCells(state, path, mine) {
  const { now, error } = usePoll(state.split ? path : null, 0, state.at);
  return state.split ? [now, error] : [mine()];
}

const Missing = ({ error }) => (error ? html`<${Trouble} error=${error} />` : html`<${Waiting} what="Loading…" lines=${6} />`);

function TwoRacks({ state, from, into }) {
  const inRack = (rack) => state.hosts.filter((h) => (h.rack || h.name) === rack);
  const [now, error] = useCells(state, `mesh?from=${api(from)}&to=${api(into)}`, () => ({ from: inRack(from), to: inRack(into), cells: state.mesh }));
  if (!now) return html`<${Missing} error=${error} />`;
  const stale = new Set(now.from.filter((h) => h.stale).map((h) => h.name));
  const cells = new Map(now.cells.map((c) => [JSON.stringify([c.from, c.to]), c]));
  const cell = (a, b) => (stale.has(a) ? (a === b ? undefined : null) : cells.get(JSON.stringify([a, b])));
  return html`<${Legend} /><${Matrix} rows=${now.from.map((h) => h.name)} columns=${now.to.map((h) => h.name)} cell=${cell} href=${(a) => to("host", a)} />`;
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
      <td>${h.stale ? none : lossOf(h.sent, h.lost || 0)}</td><td>${lossOf(h.probed, h.probed_lost || 0)}</td>
      <td>${h.stale ? html`<span class="mark warn" aria-hidden="true">!</span> ` : ""}${ago(h.last, state.at)} ago</td><td>${h.clock_ns ? Math.round(h.clock_ns / 1e9) + " s ahead" : "right"}</td></tr>`)}</tbody></table></div>`;
}

// Probed is what a host sees of others, and how they see it.
export function Probed({ state, host }) {
  const [now, error] = useCells(state, "host?name=" + api(host.name), () => ({
    from: state.mesh.filter((c) => c.from === host.name), to: state.mesh.filter((c) => c.to === host.name),
  }));
  const view = (of, theirs) => (now ? html`<${Probes} cells=${now[of]} theirs=${theirs} />` : html`<${Missing} error=${error} />`);
  return html`<div class="columns">
    <section><h3>What it sees</h3>${host.stale ? html`<p class="quiet">It does not report.</p>` : view("from", "to")}</section>
    <section><h3>How others see it</h3>${view("to", "from")}</section>
  </div>`;
}

const Probes = ({ cells, theirs }) => ((cells || []).length === 0 ? html`<p class="quiet">No data.</p>` : html`<div class="scroll some"><table class="list">
  <thead><tr><th class="text">host</th><th>probes</th><th>lost</th><th>99th percentile, µs</th></tr></thead>
  <tbody>${cells.map((c) => html`<tr><td class="text"><a href=${to("host", c[theirs])}>${c[theirs]}</a></td>
    <td>${c.sent}</td><td>${c.lost ? "✕ " : ""}${percent(c.lost / c.sent)}</td><td>${c.lost < c.sent ? micros(c.network_ns) : none}</td></tr>`)}</tbody></table></div>`);
