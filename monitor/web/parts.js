// Parts that several views have.
import { html, useEffect, useLayoutEffect, useRef } from "./vendor/htm-preact.js";
import { ago, none, percent, time } from "./format.js";

export const Alarm = ({ alarm, now }) => html`<article class="alarm">
  <div><span class="mark bad" aria-hidden="true">✕</span> <strong>${alarm.blame}: ${alarm.of}</strong> <span class="quiet">since ${time(alarm.since)} (${ago(alarm.since, now)})</span></div>
  <div>${alarm.says}</div>
</article>`;

// Trouble tells that something could not be had.
export const Trouble = ({ error }) => (error ? html`<p class="trouble" role="alert"><span class="mark warn" aria-hidden="true">!</span> ${error}</p>` : null);

// Waiting has the place of what will come.
export const Waiting = ({ what, lines = 3 }) => html`<p class="waiting lines-${lines}">${what || "Asking the agent…"}</p>`;

// Steady keeps the room that its content once had, so that what is below does not move each time something is looked at anew.
export function Steady({ children }) {
  const place = useRef(null);
  useLayoutEffect(() => { place.current.style.minHeight = place.current.offsetHeight + "px"; });
  useEffect(() => {
    const resized = () => { place.current.style.minHeight = ""; };
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, []);
  return html`<div ref=${place}>${children}</div>`;
}

// Crumbs say where the view is.
export const Crumbs = ({ steps }) => html`<nav class="crumbs" aria-label="place">${steps.map(([text, href], i) =>
  html`${i ? html`<span aria-hidden="true"> › </span>` : ""}${href ? html`<a href=${href}>${text}</a>` : html`<span aria-current="page">${text}</span>`}`)}</nav>`;

// Title is what a view begins with, and where the reader is taken when it opens.
export const Title = ({ children }) => html`<h2 class="title" tabindex="-1">${children}</h2>`;

// Number is a figure with its meaning.
export const Number = ({ of, children }) => html`<li><b>${children}</b><span>${of}</span></li>`;

// Shares is a bar of parts of a whole, with words: [key, share, what it means].
export const Shares = ({ parts }) => html`<div class="shares">
  <div class="bar" aria-hidden="true">${parts.map(([key, share], i) => html`<span class="part part-${i % 6}" style=${{ width: 100 * share + "%" }}>${share > 0.12 ? key : ""}</span>`)}</div>
  <ul>${parts.map(([key, share, says], i) => html`<li><i class="part part-${i % 6}" aria-hidden="true"></i><b>${percent(share)}</b> <code>${key}</code> ${says}</li>`)}</ul>
</div>`;

// Finding is one thing that limits a transfer.
export const Finding = ({ finding, name }) => html`<article class="finding cause-${calm.has(finding.cause) ? "calm" : "limits"}">
  <div><strong>${finding.says}</strong> <span class="quiet">${name ? html`${name}, ` : ""}<code>${finding.cause}</code></span></div>
  ${(finding.evidence || []).map((e) => html`<div class="evidence">${e}</div>`)}
  ${finding.advice ? html`<div>→ ${finding.advice}</div>` : ""}
</article>`;

// calm are causes that are how it should be.
const calm = new Set(["idle", "network", "processor", "sender"]);

// reasons are what a queue pair waits for; docs/trace.md has the same.
export const reasons = {
  none: "nothing holds the next packet back",
  "no-work": "waits for the program to ask for something",
  state: "waits for a state that sends",
  closed: "has failed",
  "window-full": "waits for acknowledgements: the window is full",
  "peer-window-full": "waits for the peer's receiver, which takes no more",
  "receiver-span-full": "waits for the oldest packet: the receiver can track none beyond",
  "ack-clock": "waits for an acknowledgement that releases packets",
  pacing: "waits for its place in the sending rate",
  "rnr-wait": "waits for the peer's receives",
  fence: "waits for READs and atomics before a fence",
  synchronise: "waits for the delay of a synchronise request",
  "initiator-depth": "waits for responses: as many READs are outstanding as agreed",
  "failure-in-order": "waits for the requests before one that must fail",
  "engine-backpressure": "waits for room in the socket",
};

// Events lists what has happened, the latest first.
export const Events = ({ events }) => (events.length === 0 ? html`<p class="quiet">Nothing.</p>` : html`<div class="scroll"><table class="list events">
  <thead><tr><th class="text">time</th><th class="text">kind</th><th class="text">what</th></tr></thead>
  <tbody>${events.map((e) => {
    const [mark, kind] = !e.alarm ? ["·", "note"] : e.alarm.ended && !e.alarm.ended.startsWith("0001") ? ["✓", "ended"] : ["✕", "alarm"];
    return html`<tr class="event-${kind}"><td class="text">${time(e.at)}</td><td class="text"><span aria-hidden="true">${mark}</span> ${kind}</td><td class="wrap">${e.says}</td></tr>`;
  })}</tbody>
</table></div>`);

export const Labels = ({ labels }) => (labels ? labels.split(",").map((l) => html`<span class="label">${l}</span> `) : html`<span class="quiet">${none}</span>`);
