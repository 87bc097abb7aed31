// Parameters of a program: what they are, who changed them, how they differ from those of others, and how to change them.
import { html, useState } from "./vendor/htm-preact.js";
import { api, ask, idOf, to, usePoll } from "./data.js";
import { time } from "./format.js";
import { Trouble, Waiting } from "./parts.js";
import { ProgramFrame } from "./host.js";

export function Parameters({ state, host, id, me }) {
  const path = "host/" + api(host) + "/program/" + api(id);
  const [round, setRound] = useState(0);
  const mine = usePoll(path + "/parameters", 0, round + state.events.length + (state.events.at(-1)?.at || "")); // a change is an event
  const all = usePoll("host/" + api(host) + "/parameters", 0, round);
  const about = usePoll(path);
  const others = (all.now?.programs || []).filter((p) => p.values && idOf(p) !== id);
  return html`<${ProgramFrame} host=${host} id=${id} tab="parameters" program=${about.now?.program}>
    ${mine.now && (all.now || all.failed) ? html`<${Form} path=${path} now=${mine.now} others=${others} host=${host} me=${me} again=${() => setRound((r) => r + 1)} />` : mine.failed ? "" : html`<${Waiting} lines=${8} />`}
    <${Trouble} error=${mine.failed ? mine.error : ""} /><//>`;
}

// Form shows the values. An operator edits some, has the program check them, and then applies them.
function Form({ path, now, others, host, me, again }) {
  const [edits, setEdits] = useState({});
  const [step, setStep] = useState({ at: "edit" }); // then "checked"
  const values = Object.fromEntries(now.parameters.map((p) => [p.name, p.value]));
  const changed = Object.fromEntries(Object.entries(edits).filter(([name, value]) => value !== values[name]));
  const may = me.role === "operator";
  const edit = (name, value) => { setEdits({ ...edits, [name]: value }); setStep({ at: "edit" }); };
  const send = async (what, body, then) => {
    try { then(await ask(path + what, body)); } catch (e) { setStep({ at: "edit", error: e.message }); }
  };
  const check = () => send("/parameters", { values: changed, dry_run: true }, (change) => setStep({ at: "checked", change }));
  const done = (says) => () => { setEdits({}); setStep({ at: "edit", says }); again(); };
  const apply = () => send("/parameters", { values: changed, dry_run: false }, done("Changed."));
  const undo = (number) => send("/rollback", { change: number }, done(`Change ${number} is undone.`));
  const many = Object.keys(changed).length;
  return html`<div class="act" aria-live="polite">
      ${!may ? html`<p class="quiet">${me.role ? html`To change something, <a href=${to("login")}>log in</a> with the token of an operator.` : ""}</p>`
      : step.at === "checked" ? html`<p><b>The program takes this:</b> ${Object.entries(changed).map(([name, value]) => html`<span class="diff"><code>${name}</code> ${values[name]} → <b>${value}</b></span> `)}
          <button class="main" onClick=${apply}>Apply</button> <button onClick=${() => setStep({ at: "edit" })}>Back</button></p>`
      : html`<p><button class="main" disabled=${many === 0} onClick=${check}>Check ${many || ""} ${many === 1 ? "change" : "changes"}</button>
          ${many ? html` <button onClick=${() => { setEdits({}); setStep({ at: "edit" }); }}>Discard</button>` : ""} <span class="quiet">${step.says || "It is applied after that. Changes are made as a whole, or not at all."}</span></p>`}
      <${Trouble} error=${step.error} /></div>
    <div class="scroll"><table class="list parameters">
      <thead><tr><th class="text">parameter</th><th class="text">value</th><th class="text">others of ${host}</th><th class="text">meaning</th></tr></thead>
      <tbody>${now.parameters.map((p) => html`<tr><td class="text"><code>${p.name}</code></td>
        <td class="text">${may && p.online ? html`<input aria-label=${p.name} class=${p.name in changed ? "edited" : ""} value=${edits[p.name] ?? p.value} onInput=${(e) => edit(p.name, e.target.value)} />` : html`<span class="value">${p.value === "" ? "–" : p.value}</span>`}</td>
        <td class="wrap"><${Others} name=${p.name} value=${p.value} others=${others} host=${host} /></td>
        <td class="wrap">${p.description}${p.online ? "" : html` <span class="quiet">(fixed while it runs)</span>`}</td></tr>`)}</tbody></table></div>
    <h3>What was changed</h3><${History} history=${now.history} may=${may} undo=${undo} />`;
}

// Others tells which programs of the host have another value.
function Others({ name, value, others, host }) {
  const different = others.filter((p) => p.values[name] !== undefined && p.values[name] !== value);
  if (others.length === 0) return html`<span class="quiet same">–</span>`;
  if (different.length === 0) return html`<span class="quiet same">the same</span>`;
  return html`<span class="differs">≠</span> ${different.slice(0, 4).map((p) => html`<a href=${to("host", host, "program", idOf(p), "parameters")}>${p.program} ${idOf(p)}</a>: ${p.values[name]} `)}${different.length > 4 ? `and ${different.length - 4} more` : ""}`;
}

function History({ history, may, undo }) {
  const [sure, setSure] = useState(0);
  if (history.length === 0) return html`<p class="quiet">Nothing since the program began.</p>`;
  const undone = new Set(history.map((c) => c.undoes));
  return html`<div class="scroll"><table class="list"><thead><tr><th>no.</th><th class="text">time</th><th class="text">by</th><th class="text">change</th><th></th></tr></thead>
    <tbody>${[...history].reverse().map((c) => html`<tr><td>${c.number}</td><td class="text">${time(c.at)}</td><td class="text">${c.by}</td>
      <td class="wrap">${c.undoes ? `undoes ${c.undoes}: ` : ""}${Object.keys(c.after).map((name) => html`<span class="diff"><code>${name}</code> ${c.before[name]} → <b>${c.after[name]}</b></span> `)}</td>
      <td>${!may ? "" : undone.has(c.number) ? html`<span class="quiet">undone</span>` : sure === c.number
        ? html`<button class="main" onClick=${() => { setSure(0); undo(c.number); }}>Really undo</button> <button onClick=${() => setSure(0)}>No</button>`
        : html`<button onClick=${() => setSure(c.number)}>Undo</button>`}</td></tr>`)}</tbody></table></div>`;
}
