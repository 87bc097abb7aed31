// The event log.
import { html } from "./vendor/htm-preact.js";
import { to, usePoll } from "./data.js";
import { Events, Title, Trouble, Waiting } from "./parts.js";

// EventLog has its filter in the address, so that it can be sent to somebody.
export function EventLog({ state, kind, text }) {
  const alarms = kind === "alarms";
  const { now, error, failed } = usePoll(`events?text=${encodeURIComponent(text || "")}${alarms ? "&alarms=1" : ""}`, 0, state.events.at(-1)?.at);
  const go = (k, t) => { history.replaceState(null, "", t ? to("events", k, t) : to("events", k)); dispatchEvent(new Event("hashchange")); };
  return html`<${Title}>Events<//>
    <p class="filter"><label>Search <input data-filter type="search" value=${text || ""} onInput=${(e) => go(kind || "all", e.target.value)} placeholder="host, name or words" /></label>
      <label><input type="checkbox" checked=${alarms} onChange=${(e) => go(e.target.checked ? "alarms" : "all", text)} /> alarms only</label>
      <span class="quiet">${now ? `${now.matching} of ${now.of}${now.matching > now.events.length ? `, the latest ${now.events.length} shown` : ""}` : ""}</span></p>
    ${now ? html`<${Events} events=${now.events} />` : failed ? html`<${Trouble} error=${error} />` : html`<${Waiting} what="Loading…" lines=${8} />`}`;
}
