// Where the page has its data from: the monitor's state, replies of agents, and the address.
import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

// ask fetches something, or sends a body. An error says what the monitor says, and has the status.
export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let r;
  try { r = await fetch("api/" + path, options); } catch { throw new Error("The monitor does not respond."); }
  const result = await r.json().catch(() => ({ error: r.statusText }));
  if (r.ok) return result;
  if (r.status === 401 && path !== "login") dispatchEvent(new Event("logged-out"));
  throw Object.assign(new Error(result.error), { status: r.status });
}

// useMonitor keeps the state of the monitor up to date: it is fetched when the monitor says that there is news. Nothing else on the page
// knows how the state comes.
export function useMonitor(wanted) {
  const [state, setState] = useState(null);
  const [lost, setLost] = useState(false);
  useEffect(() => {
    if (!wanted) return undefined;
    let busy = false, again = false;
    const load = async () => { // one at a time, and once more if there was news meanwhile
      again = true;
      if (busy) return;
      busy = true;
      while (again) {
        again = false;
        try { const [state, racks] = await Promise.all([ask("state"), ask("racks")]); setState({ ...state, racks, alarms: state.alarms || [], events: state.events || [] }); setLost(false); } catch { setLost(true); }
      }
      busy = false;
    };
    // A browser has few connections for all tabs, so that one that nobody sees only looks now and then.
    let news = null;
    const leave = () => { news?.close(); news = null; };
    const follow = () => {
      leave();
      if (document.hidden) return;
      load();
      news = new EventSource("api/news");
      news.addEventListener("news", load);
      news.onerror = () => setLost(true);
      news.onopen = () => setLost(false);
    };
    const hidden = setInterval(() => { if (document.hidden) load(); }, 30000);
    follow();
    document.addEventListener("visibilitychange", follow);
    addEventListener("pagehide", leave);
    addEventListener("pageshow", follow);
    return () => {
      leave();
      clearInterval(hidden);
      document.removeEventListener("visibilitychange", follow);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", follow);
    };
  }, [wanted]);
  return [state, lost];
}

// usePoll asks again and again while its view is open and can be seen. It returns the reply, the one before, and what is wrong. Without a
// time it asks when the path or the key changes.
export function usePoll(path, every, key) {
  const [result, setResult] = useState({ path });
  const round = useRef(0);
  useEffect(() => {
    const mine = ++round.current;
    let timer = 0, looks = 0;
    const look = async () => {
      try {
        const now = path && !(every && document.hidden) ? await ask(path) : null;
        if (mine !== round.current) return;
        if (now) setResult((r) => ({ path, now, before: r.path === path ? r.now : undefined, failed: false }));
      } catch (error) {
        if (mine !== round.current) return;
        setResult((r) => ({ ...(r.path === path ? r : {}), path, error: error.message, status: error.status, failed: true }));
      }
      if (every) timer = setTimeout(look, looks++ ? every : Math.min(every, 1500)); // rates need two looks
    };
    look();
    return () => { round.current++; clearTimeout(timer); };
  }, [path, every, key]);
  return result.path === path ? result : { path };
}

// usePlace is the part of the address behind the #, which says what is shown.
export function usePlace() {
  const [place, setPlace] = useState(readPlace());
  useEffect(() => {
    const changed = () => setPlace(readPlace());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

// loginPlace is the address of the form, from which one returns to where one was.
export const loginPlace = "#/login";
let before = "#/";
export const placeBefore = () => before;

export function readPlace() {
  if (location.hash !== loginPlace) before = location.hash || "#/";
  return location.hash.replace(/^#\/?/, "").split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
}

// to is the address of a view, and api that of what it asks for.
export const to = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");
export const api = (...parts) => parts.map(encodeURIComponent).join("/");

export const idOf = (program) => program.pid + "." + program.number;
