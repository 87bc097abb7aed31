// Numbers and times as people read them. What is not known is a dash, never a zero.
export const none = "–";
const known = (x) => x !== undefined && x !== null && !Number.isNaN(x);

export const clock = (t) => new Date(t).toLocaleTimeString("en-GB");
const day = (t) => { const d = new Date(t); return `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, "0")}-${String(d.getDate()).padStart(2, "0")}`; };
// time is short where it is today.
export const time = (t) => (day(t) === day(Date.now()) ? clock(t) : day(t) + " " + clock(t));
export const ago = (t, now) => span(Math.max(0, new Date(now) - new Date(t)));
const span = (ms) => (ms < 120e3 ? Math.round(ms / 1e3) + " s" : ms < 7200e3 ? Math.round(ms / 60e3) + " min" : ms < 48 * 3600e3 ? Math.round(ms / 3600e3) + " h" : Math.round(ms / 86400e3) + " d");

// three has three digits that matter.
const three = (x) => (x === 0 ? "0" : Math.abs(x) >= 100 ? Math.round(x).toString() : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(2));
const scaled = (x, base, units) => {
  let i = 0;
  while (Math.abs(x) >= base && i < units.length - 1) { x /= base; i++; }
  return three(x) + " " + units[i];
};
export const duration = (ns) => (known(ns) ? scaled(ns, 1000, ["ns", "µs", "ms", "s"]) : none);
export const micros = (ns) => (ns / 1000 < 100 ? (ns / 1000).toFixed(1) : Math.round(ns / 1000).toString());
export const bytes = (n) => (known(n) ? (n < 1024 ? n + " B" : scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB"])) : none);
// rate is of bytes in a second, as bits.
export const rate = (n) => (known(n) ? (n === 0 ? "0" : scaled(8 * n, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])) : none);
export const each = (n) => (known(n) ? (n === 0 ? "0" : scaled(n, 1000, ["/s", "k/s", "M/s"])) : none);
export const count = (n) => (known(n) ? (n < 10000 ? String(Math.round(n)) : scaled(n, 1000, ["", "k", "M", "G", "T"]).trim()) : none);
export const percent = (x) => (!known(x) ? none : x === 0 ? "0 %" : x < 0.001 ? "<0.1 %" : (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %");
export const qpName = (n) => "0x" + n.toString(16).padStart(6, "0");

// grown is by how much a counter grows in a second, between two looks; undefined if there was no earlier one, or it began anew.
export const grown = (now, then, seconds) => (known(now) && known(then) && now >= then && seconds > 0 ? (now - then) / seconds : undefined);
