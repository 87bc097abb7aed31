// Traces of messages: which took how long, and where the time of one went.
import { html, useState } from "./vendor/htm-preact.js";
import { api, to, usePoll } from "./data.js";
import { bytes, duration, percent, time } from "./format.js";
import { Trouble, Waiting } from "./parts.js";
import { ProgramFrame, SlowList } from "./host.js";

// sides are where a phase takes place, seen from who has the trace.
const theirs = new Set(["fetch", "wait", "handler", "reply"]), network = new Set(["wire", "wire back", "remote", "ack"]);
const sideOf = (trace, phase) => (network.has(phase) ? "network" : theirs.has(phase) && trace.role === "caller" ? "peer" : "here");
const sideWords = { here: "here", network: "the network", peer: "the peer" };

// keyOf names a trace in an address.
const keyOf = (t) => `${t.role}-${t.number}-${t.start}`;

export function Traces({ host, id, wanted }) {
  const path = "host/" + api(host) + "/program/" + api(id);
  const [round, setRound] = useState(0);
  const { now, error, failed } = usePoll(path + "/traces", 0, round);
  const about = usePoll(path);
  const place = ["host", host, "program", id, "traces"];
  return html`<${ProgramFrame} host=${host} id=${id} tab="traces" program=${about.now?.program}>
    ${now ? wanted ? html`<${One} traces=${now} wanted=${wanted} place=${place} />` : html`<${Lists} traces=${now} place=${place} again=${() => setRound(round + 1)} />`
      : failed ? "" : html`<${Waiting} lines=${8} />`}
    <${Trouble} error=${failed ? error : ""} /><//>`;
}

const Sides = () => html`<div class="legend">${Object.keys(sideWords).map((s) => html`<span><i class="side-${s}"></i> ${sideWords[s]}</span>`)}</div>`;

function Lists({ traces, place, again }) {
  return html`<p><button onClick=${again}>Look again</button> <span class="quiet">A program keeps its last messages, and those that took longest.</span></p>
    ${(traces.last || []).length === 0 ? html`<p>No message was traced. Set the parameter <code>trace</code> to <code>req-rsp</code> to trace calls.</p>` : html`<${Sides} />`}
    <h3>Slowest</h3><${List} traces=${traces.slowest || []} place=${place} />
    <h3>Slow polls and phases</h3><${SlowList} events=${[...(traces.slow || [])].reverse().map((slow) => ({ slow }))} />
    <h3>Last</h3><${List} traces=${[...(traces.last || [])].reverse()} place=${place} />`;
}

function List({ traces, place }) {
  if (traces.length === 0) return html`<p class="quiet">None is kept.</p>`;
  const longest = Math.max(...traces.map((t) => t.total_ns));
  return html`<div class="scroll most"><table class="list">
    <thead><tr><th class="text">began</th><th class="text">message</th><th class="text">to</th><th>size</th><th>took</th><th class="text">phases</th></tr></thead>
    <tbody>${traces.map((t) => html`<tr><td class="text">${time(t.start)}</td><td class="text"><a href=${to(...place, keyOf(t))}>${t.role} ${t.number}</a>${t.error ? " ✕ failed" : ""}</td>
      <td class="text">${t.remote}</td><td>${bytes(t.bytes)}</td><td>${duration(t.total_ns)}</td>
      <td><div class="mini" aria-hidden="true"><div style=${{ width: (100 * t.total_ns) / longest + "%" }}>${t.segments.map((s) => html`<span class="side-${sideOf(t, s.phase)}" style=${{ width: (100 * s.ns) / t.total_ns + "%" }}></span>`)}</div></div></td></tr>`)}</tbody></table></div>`;
}

// One is a trace as a waterfall: each phase begins where the one before it ends.
function One({ traces, wanted, place }) {
  const t = [...(traces.slowest || []), ...(traces.last || [])].find((x) => keyOf(x) === wanted);
  if (!t) return html`<p>The program keeps this trace no more. <a href=${to(...place)}>Those that it keeps</a></p>`;
  let passed = 0;
  const rows = t.segments.map((s) => {
    const from = passed;
    passed += s.ns;
    return { ...s, from, side: sideOf(t, s.phase) };
  });
  return html`<h3>${t.role} ${t.number}: ${duration(t.total_ns)}</h3>
    <p>${t.local} – ${t.remote}, ${bytes(t.bytes)}${t.reply_bytes ? `, response ${bytes(t.reply_bytes)}` : ""}, in ${t.mode} mode, began ${time(t.start)}${t.place ? html`; handler <code>${t.place}</code>` : ""}</p>
    ${t.error ? html`<${Trouble} error=${"It failed: " + t.error} />` : ""}<${Sides} />
    <div class="waterfall" role="table" aria-label="phases">${rows.map((r) => html`<div class="phase" role="row">
      <span role="cell">${r.phase}</span>
      <span class="track" role="cell" aria-label=${sideWords[r.side]}><span class="side-${r.side}" style=${{ left: `min(${(100 * r.from) / (t.total_ns || 1)}%, 100% - 3px)`, width: (100 * r.ns) / (t.total_ns || 1) + "%" }}></span></span>
      <span class="figure" role="cell">${duration(r.ns)}</span><span class="figure quiet" role="cell">${percent(r.ns / (t.total_ns || 1))}</span></div>`)}
      <div class="phase axis" aria-hidden="true"><span></span><span class="track">${[0, 0.25, 0.5, 0.75, 1].map((x) => html`<i style=${{ left: 100 * x + "%" }}>${x === 0 ? "0" : duration(x * t.total_ns)}</i>`)}</span><span></span><span></span></div></div>
    ${t.clock?.bound_ns ? html`<p class="quiet">The peer's clock is ahead by ${duration(t.clock.offset_ns)}, give or take ${duration(t.clock.bound_ns)}: the two ways of the wire are known as well as that.</p>` : ""}
    <p><a href=${to(...place)}>All traces</a></p>`;
}
