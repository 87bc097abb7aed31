// The page: which view is shown, who is there, keys, light and dark.
import { html, render, useEffect, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import { ask, readPlace, to, useMonitor, usePlace } from "./data.js";
import { clock } from "./format.js";
import { Connection } from "./connection.js";
import { EventLog } from "./events.js";
import { HostView, ProgramView } from "./host.js";
import { Login, Who } from "./login.js";
import { Hosts, Mesh, Overview } from "./mesh.js";
import { Parameters } from "./parameters.js";
import { Traces } from "./traces.js";

const pages = [["", "Overview"], ["mesh", "Mesh"], ["hosts", "Hosts"], ["events", "Events"]];

// useTheme is light or dark, as the system has it or as was chosen, and remembers it.
function useTheme() {
  const [theme, setTheme] = useState(localStorage.getItem("theme") || "auto");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(system.matches);
  useEffect(() => {
    const changed = () => setDark(system.matches);
    system.addEventListener("change", changed);
    return () => system.removeEventListener("change", changed);
  }, []);
  document.documentElement.className = theme === "auto" ? "" : theme; // before what is drawn asks for colours
  useEffect(() => localStorage.setItem("theme", theme), [theme]);
  const next = () => setTheme((now) => ({ auto: "light", light: "dark", dark: "auto" })[now] || "auto");
  return [theme === "auto" ? (dark ? "dark" : "light") : theme, theme, next];
}

// useMe is who reads; null: it is not known yet.
function useMe() {
  const [me, setMe] = useState(null);
  useEffect(() => {
    const look = () => ask("me").then(setMe).catch(() => setTimeout(look, 2000));
    look();
    addEventListener("logged-out", look);
    return () => removeEventListener("logged-out", look);
  }, []);
  return [me, setMe];
}

// help are the keys.
const help = [["1 – 4", "the views"], ["/", "search"], ["u", "one level up"], ["t", "light, dark, or as the system"], ["?", "this"], ["Tab, Enter", "everything else"]];

// useKeys has keys that work wherever nothing is typed.
function useKeys(theme, showHelp) {
  useEffect(() => {
    const keys = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
      const filter = document.querySelector("[data-filter]");
      if (pages[e.key - 1]) location.hash = "/" + pages[e.key - 1][0];
      else if (e.key === "/" && filter) filter.focus();
      else if (e.key === "u") location.hash = above(readPlace()); // as it is now: what is drawn may be a moment behind
      else if (e.key === "t") theme();
      else if (e.key === "?") showHelp((shown) => !shown);
      else if (e.key === "Escape") showHelp(false);
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", keys);
    document.documentElement.dataset.keys = "on"; // from here on they are taken
    return () => removeEventListener("keydown", keys);
  }, [theme]);
}

// above is the view that this one is a part of.
function above(place) {
  const [page, host, word, id, tab, key] = place;
  if (page === "host" && key && tab === "traces") return to("host", host, word, id, tab);
  if (page === "host" && tab) return to("host", host, word, id);
  if (page === "host" && word) return to("host", host);
  if (page === "host") return to("hosts");
  return page === "mesh" && host ? to("mesh") : "#/";
}

function View({ state, place, me, known, theme }) {
  const [page, a, b, id, tab, key] = place;
  if (page === "login" || (me && !me.role)) return html`<${Login} me=${me} known=${known} />`;
  if (!state || !me) return html`<p class="loading">Loading…</p>`;
  if (page === "host" && b === "program" && id) {
    const about = { host: a, id, key: [a, id, tab, key].join() };
    return tab === "qp" ? html`<${Connection} ...${about} qpn=${key} theme=${theme} />`
      : tab === "traces" ? html`<${Traces} key=${a + id} host=${a} id=${id} wanted=${key} />`
      : tab === "parameters" ? html`<${Parameters} ...${about} state=${state} me=${me} />` : html`<${ProgramView} ...${about} />`;
  }
  if (page === "mesh") return html`<${Mesh} state=${state} from=${a} into=${b} />`;
  if (page === "hosts") return html`<${Hosts} state=${state} />`;
  if (page === "host") return html`<${HostView} key=${a} state=${state} name=${a} />`;
  if (page === "events") return html`<${EventLog} state=${state} kind=${a} text=${b} />`;
  return html`<${Overview} state=${state} />`;
}

// titleOf is what the window is called.
const titleOf = (place) => [...place].filter(Boolean).reverse().join(" · ") || "overview";

function App() {
  const place = usePlace();
  const [me, setMe] = useMe();
  const [state, lost] = useMonitor(Boolean(me?.role));
  const [theme, chosen, nextTheme] = useTheme();
  const [helped, showHelp] = useState(false);
  const main = useRef(null), first = useRef(true);
  useKeys(nextTheme, showHelp);
  const where = place.slice(0, place[0] === "events" ? 1 : place.length).join("/");
  useEffect(() => {
    const wrong = state?.alarms.length ? `(${state.alarms.length}) ` : "";
    document.title = `${wrong}${titleOf(place)} – braid monitor`;
  }, [where, state?.alarms.length]);
  useLayoutEffect(() => { // who follows a link by keyboard goes on from where the view begins
    if (!first.current) { main.current.querySelector(".title")?.focus({ preventScroll: true }); scrollTo(0, 0); }
    first.current = false;
  }, [where]);
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current.focus(); }}>To the content</a>
    <header><h1>braid monitor</h1>
      <nav aria-label="views">${pages.map(([name, title], i) => html`<a href="#/${name}" aria-current=${(place[0] || "") === name || (name === "hosts" && place[0] === "host") ? "page" : undefined} title="key ${i + 1}">${title}</a>`)}</nav>
      <span class="right"><span class="asof" role="status">${lost ? html`<span class="mark warn" aria-hidden="true">!</span> the monitor is away` : state ? "as of " + clock(state.at) : ""}</span>${" "}
        <${Who} me=${me} known=${setMe} /> <button onClick=${nextTheme} title="light or dark (key t)">${chosen}</button> <button onClick=${() => showHelp(!helped)} aria-expanded=${helped ? "true" : "false"} title="keys (key ?)">?</button></span></header>
    ${helped ? html`<aside class="help" aria-label="keys"><dl>${help.map(([k, says]) => html`<dt><kbd>${k}</kbd></dt><dd>${says}</dd>`)}</dl></aside>` : ""}
    <main id="main" tabindex="-1" ref=${main}><${View} state=${state} place=${place} me=${me} known=${setMe} theme=${theme} /></main>`;
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
