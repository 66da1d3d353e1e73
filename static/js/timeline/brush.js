/* The chart as a time filter: drag, or arrow keys; a bar is the smallest choice. Everything it says stands on the bars. */
import { choose } from "./filters.js";

let from = -1; // where the choice began
let to = -1; // where it is now
let dragging = false;

const chart = document.getElementById("chart");
const bars = () => [...chart.querySelectorAll(".bar")];
const brush = () => chart.querySelector(".brush");

function range() {
  const all = bars();
  const [first, last] = [Math.min(from, to), Math.max(from, to)];
  return all.slice(first, last + 1);
}

function words(chosen) {
  if (chosen.length === 1) return `${chosen[0].dataset.begins}: ${chosen[0].dataset.words}`;
  const total = chosen.reduce((sum, bar) => sum + Number(bar.dataset.total), 0);
  return `${chosen[0].dataset.begins} – ${chosen.at(-1).dataset.ends}: ${total} turn${total === 1 ? "" : "s"}`;
}

function say(text) {
  const output = chart.querySelector("#chosen");
  output.querySelector(".words").textContent = text;
  output.querySelector(".rest").hidden = Boolean(text);
}

function draw() {
  const all = bars();
  const step = 1000 / all.length;
  const shown = from >= 0;
  const rect = chart.querySelector(".bars .range");
  rect.setAttribute("x", shown ? Math.min(from, to) * step : 0);
  rect.setAttribute("width", shown ? (Math.abs(to - from) + 1) * step : 0);
  if (!shown) return say("");
  const text = words(range());
  say(text);
  brush().setAttribute("aria-valuenow", to + 1);
  brush().setAttribute("aria-valuetext", text);
}

function letGo() {
  [from, to] = [-1, -1];
  draw();
}

function apply() {
  const chosen = range();
  if (!chosen.length) return;
  choose({ since: chosen[0].dataset.since, until: chosen.at(-1).dataset.until });
}

function under(event) {
  const box = brush().getBoundingClientRect();
  const count = bars().length;
  return Math.max(0, Math.min(count - 1, Math.floor((count * (event.clientX - box.left)) / box.width)));
}

chart.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".brush") || event.button) return;
  brush().setPointerCapture(event.pointerId);
  dragging = true;
  from = to = under(event);
  draw();
});
chart.addEventListener("pointermove", (event) => {
  if (!event.target.closest(".brush")) return;
  if (dragging) {
    to = under(event);
    draw();
  } else if (from < 0) {
    say(words([bars()[under(event)]]));
  }
});
chart.addEventListener("pointerup", () => {
  if (!dragging) return;
  dragging = false;
  apply();
});
chart.addEventListener("pointercancel", () => {
  dragging = false;
  letGo();
});
chart.addEventListener("pointerout", () => !dragging && from < 0 && chart.querySelector("#chosen") && say(""));
chart.addEventListener("focusout", (event) => event.target.matches(".brush") && !dragging && brush() && letGo());
chart.addEventListener("keydown", (event) => {
  if (!event.target.matches(".brush") || event.ctrlKey || event.metaKey || event.altKey) return;
  const last = bars().length - 1;
  const moves = { ArrowLeft: to - 1, ArrowRight: to + 1, Home: 0, End: last, PageUp: to - 10, PageDown: to + 10 };
  if (event.key === "Enter") apply();
  else if (event.key === "Escape") letGo();
  else if (event.key in moves) {
    const began = from < 0;
    to = began && event.key.startsWith("Arrow") ? last : Math.max(0, Math.min(last, moves[event.key]));
    if (began || !event.shiftKey) from = to;
    draw();
  } else return;
  event.preventDefault();
});
/* A new chart knows nothing of a choice on the old one; while somebody draws, it waits for the next. */
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id !== "chart") return;
  if (dragging) event.detail.shouldSwap = false;
  else [from, to] = [-1, -1];
});
