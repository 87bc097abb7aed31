// A host with its programs, and a program with its queue pairs.
import { html } from "./vendor/htm-preact.js";
import { api, idOf, to, usePoll } from "./data.js";
import { ago, bytes, count, duration, each, grown, none, qpName, rate, time } from "./format.js";
import { Alarm, Crumbs, Finding, Labels, Number, Steady, Title, Trouble, Waiting, reasons } from "./parts.js";
import { Probed } from "./mesh.js";

// programEvery is how often programs are looked at.
const programEvery = 4000;

export function HostView({ state, name }) {
  const h = state.hosts.find((x) => x.name === name);
  const steps = [["Hosts", to("hosts")], [name]];
  if (!h) return html`<${Crumbs} steps=${steps} /><${Title}>${name}<//><p>No agent of this name has joined.</p>`;
  return html`<${Crumbs} steps=${steps} /><${Title}>${h.name}<//>
    <ul class="numbers">
      <${Number} of="rack">${h.rack || none}<//><${Number} of="address">${h.addr}<//>
      <${Number} of="reports, last ${ago(h.last, state.at)} ago">${h.stale ? "no" : "yes"}<//>
      <${Number} of="clock">${h.clock_ns ? Math.round(h.clock_ns / 1e9) + " s ahead" : "right"}<//></ul>
    ${state.alarms.filter((a) => a.of === name).map((a) => html`<${Alarm} alarm=${a} now=${state.at} />`)}
    <h3>Programs</h3><${Steady}><${Programs} host=${name} /><//>
    <${Probed} state=${state} host=${h} />
    <h3>Slow polls and phases</h3><${Slow} host=${name} />`;
}

// between are the rates of what two looks at a device have counted.
function between(now, before) {
  const seconds = before ? (new Date(now.at) - new Date(before.at)) / 1000 : 0;
  const pairs = new Map((before?.queue_pairs || []).map((q) => [q.number, q]));
  const sum = (counter) => grown(now.sum?.[counter], before?.sum?.[counter], seconds);
  const pair = (q, counter) => grown(q.counters[counter], pairs.get(q.number)?.counters[counter], seconds);
  const lost = (of) => { // without what was taken for lost and only came late
    const all = of("mp_lost");
    return all === undefined ? undefined : Math.max(0, all - (of("mp_spurious_retransmits") || 0));
  };
  return { sum, pair, lost: (q) => lost(q ? (counter) => pair(q, counter) : sum) };
}

const moved = (q) => q.counters.tx_bytes + q.counters.rx_bytes;
const states = (pairs) => Object.entries(pairs || {}).map(([state, n]) => `${n} ${state}`).join(", ") || none;

function Programs({ host }) {
  const { now, before, error, failed } = usePoll("host/" + api(host) + "/programs", programEvery);
  if (!now) return failed ? html`<${Trouble} error=${error} />` : html`<${Waiting} lines=${6} />`;
  if (now.programs.length === 0) return html`<p class="quiet">No program uses braid here, or none that the agent may ask.</p>`;
  const earlier = new Map((before?.programs || []).map((p) => [idOf(p), p.device]));
  return html`<div class="scroll reserve"><table class="list">
    <thead><tr><th class="text">program</th><th class="text">labels</th><th class="text">queue pairs</th><th>sent</th><th>received</th><th>lost</th><th>memory</th><th class="text">waits for</th></tr></thead>
    <tbody>${now.programs.map((p) => html`<${ProgramRows} host=${host} program=${p} before=${earlier.get(idOf(p))} />`)}</tbody></table></div>
    ${now.left_out ? html`<p class="quiet">${now.left_out} more are not shown.</p>` : ""}${failed ? html`<${Trouble} error=${error} />` : ""}`;
}

// ProgramRows is a program and the busiest of its queue pairs below it.
function ProgramRows({ host, program, before }) {
  const d = program.device, place = ["host", host, "program", idOf(program)];
  const name = html`<td class="text"><a href=${to(...place)}>${program.program}</a> <span class="quiet">${idOf(program)}</span></td><td class="text"><${Labels} labels=${program.labels} /></td>`;
  if (!d) return html`<tr>${name}<td class="wrap" colspan="6">${program.error}</td></tr>`;
  const r = between(d, before);
  const pairs = d.queue_pairs.filter((q) => q.type !== "UD" && q.type !== "GSI").sort((a, b) => moved(b) - moved(a)).slice(0, 4);
  return html`<tr>${name}<td class="text">${states(d.pairs)}</td><td>${rate(r.sum("tx_bytes"))}</td><td>${rate(r.sum("rx_bytes"))}</td><td>${each(r.lost())}</td>
      <td>${bytes(d.registered_bytes)}</td><td></td></tr>
    ${pairs.map((q) => html`<tr class="below"><td class="text">↳ <a href=${to(...place, "qp", q.number)}>${qpName(q.number)}</a> <span class="quiet">${q.type}</span></td><td class="text">${q.peer || none}</td>
      <td class="text">${q.state}${q.paths ? `, ${q.paths.length} paths` : ""}</td><td>${rate(r.pair(q, "tx_bytes"))}</td><td>${rate(r.pair(q, "rx_bytes"))}</td><td>${each(r.lost(q))}</td>
      <td></td><td class="text" title=${reasons[q.blocked]}>${q.blocked}</td></tr>`)}`;
}

// Slow is what took too long in the programs of a host.
function Slow({ host }) {
  const { now, error, failed } = usePoll("host/" + api(host) + "/slow", 3 * programEvery);
  if (!now) return failed ? html`<${Trouble} error=${error} />` : html`<${Waiting} lines=${2} />`;
  return html`<${SlowList} events=${now.slow} />${now.left_out ? html`<p class="quiet">${now.left_out} programs were not asked, or do not respond.</p>` : ""}`;
}

// SlowList lists slow events, of several programs or of one.
export function SlowList({ events }) {
  if (events.length === 0) return html`<p class="quiet lines-2">None is kept. Programs keep them if <code>polling_warn</code> is set, or messages are traced.</p>`;
  return html`<div class="scroll most reserve-small"><table class="list">
    <thead><tr><th class="text">time</th><th class="text">phase</th><th>took</th><th>more than</th><th class="text">where</th>${events[0].program ? html`<th class="text">program</th>` : ""}</tr></thead>
    <tbody>${events.map(({ slow, program }) => html`<tr><td class="text">${time(slow.at)}</td><td class="text">${slow.phase}</td><td>${duration(slow.ns)}</td><td>${duration(slow.threshold_ns)}</td>
      <td class="wrap">${slow.place}${slow.stack ? html`<details><summary>stack</summary><pre>${slow.stack}</pre></details>` : ""}</td>
      ${program ? html`<td class="text">${program.program} <span class="quiet">${idOf(program)}</span></td>` : ""}</tr>`)}</tbody></table></div>`;
}

// ProgramFrame is what the views of a program have in common.
export function ProgramFrame({ host, id, tab, program, children }) {
  const place = ["host", host, "program", id];
  const tabs = [["", "Queue pairs"], ["traces", "Traces"], ["parameters", "Parameters"]];
  return html`<${Crumbs} steps=${[["Hosts", to("hosts")], [host, to("host", host)], ["program " + id]]} />
    <${Title}>${program?.program || "program " + id} <span class="quiet">${id} of ${host}</span> <${Labels} labels=${program?.labels || ""} /><//>
    <nav class="tabs" aria-label="of the program">${tabs.map(([key, text]) => html`<a href=${to(...place, ...(key ? [key] : []))} aria-current=${tab === key ? "page" : undefined}>${text}</a>`)}</nav>
    ${children}`;
}

export function ProgramView({ host, id }) {
  const path = "host/" + api(host) + "/program/" + api(id);
  const { now, before, error, failed } = usePoll(path, programEvery);
  return html`<${ProgramFrame} host=${host} id=${id} tab="" program=${now?.program}>
    ${now ? html`<${Device} host=${host} id=${id} device=${now} before=${before} />` : failed ? "" : html`<${Waiting} lines=${8} />`}
    ${failed ? html`<${Trouble} error=${error} />` : ""}
    <h3>What limits it</h3><${Why} path=${path + "/why?for=1s"} place=${["host", host, "program", id, "qp"]} />
  <//>`;
}

function Device({ host, id, device, before }) {
  const r = between(device, before);
  const pairs = [...device.queue_pairs].sort((a, b) => moved(b) - moved(a) || a.number - b.number);
  const total = Object.values(device.pairs || {}).reduce((a, b) => a + b, 0);
  return html`<ul class="numbers">
      <${Number} of="sent">${rate(r.sum("tx_bytes"))}<//><${Number} of="received">${rate(r.sum("rx_bytes"))}<//>
      <${Number} of="packets lost">${each(r.lost())}<//><${Number} of="retransmissions">${each(r.sum("retransmits"))}<//>
      <${Number} of="in ${device.mrs} memory regions">${bytes(device.registered_bytes)}<//><${Number} of="queue pairs">${states(device.pairs)}<//></ul>
    <div class="scroll reserve"><table class="list">
      <thead><tr><th class="text">queue pair</th><th class="text">type</th><th class="text">state</th><th class="text">peer</th><th>sent</th><th>received</th><th>RTT</th><th>window</th><th>in flight</th><th>paths</th><th>lost</th><th class="text">waits for</th></tr></thead>
      <tbody>${pairs.map((q) => html`<tr><td class="text"><a href=${to("host", host, "program", id, "qp", q.number)}>${qpName(q.number)}</a></td><td class="text">${q.type}</td><td class="text">${q.state}</td>
        <td class="text">${q.peer || none}</td><td>${rate(r.pair(q, "tx_bytes"))}</td><td>${rate(r.pair(q, "rx_bytes"))}</td><td>${q.rtt_ns ? duration(q.rtt_ns) : none}</td>
        <td>${q.window ? count(q.window) : none}</td><td>${q.window ? count(q.in_flight || 0) : none}</td><td>${q.paths ? q.paths.filter((p) => !p.retired).length + "/" + q.paths.length : none}</td>
        <td>${each(r.lost(q))}</td><td class="text" title=${reasons[q.blocked]}>${q.blocked}</td></tr>`)}</tbody></table></div>
    ${total > pairs.length ? html`<p class="quiet">The busiest ${pairs.length} of ${total}.</p>` : ""}`;
}

// Why is what limits a program, or all that evidence says of its queue pairs.
export function Why({ path, place }) {
  const { now, error, failed } = usePoll(path, 10000);
  if (!now) return failed ? html`<${Trouble} error=${error} />` : html`<${Waiting} what="Looking for a second…" lines=${4} />`;
  return html`<div class="reserve-small">${now.findings.length === 0 ? html`<p class="quiet">Nothing limits it: no queue pair did anything in ${duration(now.evidence.took_ns)}.</p>` : ""}
    <div class="findings">${now.findings.map((f) => html`<${Finding} finding=${f} name=${f.queue_pair ? html`<a href=${to(...place, f.queue_pair)}>${qpName(f.queue_pair)}</a>` : "the whole program"} />`)}</div></div>
    <p class="quiet">From ${now.evidence.samples} samples in ${duration(now.evidence.took_ns)}${now.evidence.left_out ? `; ${now.evidence.left_out} more queue pairs did something` : ""}; taken anew every ten seconds.</p>
    ${failed ? html`<${Trouble} error=${error} />` : ""}`;
}
