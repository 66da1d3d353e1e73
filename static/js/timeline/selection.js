/* Choosing rows: each by its box, a stretch with shift, a page by the head's box, all that match. Rows are replaced while
   they are shown, so what is chosen is remembered by id. */
import { tell } from "./tail.js";

const chosen = new Set();
let last; // the row that a stretch begins at
let shift = false;

const bar = document.getElementById("bulk");
const every = bar.elements.every;
const boxes = () => [...document.querySelectorAll("#rows input[name='turn']")];
const number = (count) => count.toString().replace(/\B(?=(\d{3})+$)/g, ",");

/* How many turns the chart has counted. Those that came since are not meant, so that the dialog names the same number. */
function matching() {
  const total = document.querySelector("#chart .total");
  bar.elements.newest.value = total?.dataset.newest ?? "";
  return total?.querySelector("b")?.textContent;
}

function show() {
  const all = boxes();
  for (const box of all) {
    box.checked = chosen.has(box.value);
    box.closest("tr").classList.toggle("chosen", box.checked);
  }
  for (const id of chosen) if (!all.some((box) => box.value === id)) chosen.delete(id);
  const head = document.querySelector("[data-pick-all]");
  head.checked = all.length > 0 && chosen.size === all.length;
  head.indeterminate = chosen.size > 0 && !head.checked;
  if (!chosen.size) every.checked = false;
  bar.elements.newest.value = "";
  bar.querySelector("[data-chosen]").textContent = every.checked ? (matching() ?? "All") : number(chosen.size);
  bar.querySelector("[data-compare]").hidden = every.checked || chosen.size !== 2;
  tell();
}

function pick(box, checked) {
  const all = boxes();
  const start = shift && last ? all.findIndex((other) => other.value === last) : -1;
  const end = all.indexOf(box);
  const stretch = start < 0 ? [box] : all.slice(Math.min(start, end), Math.max(start, end) + 1);
  for (const one of stretch) checked ? chosen.add(one.value) : chosen.delete(one.value);
  last = box.value;
  every.checked = false;
  show();
}

document.addEventListener("click", (event) => {
  shift = event.shiftKey;
}, true);
document.addEventListener("keydown", (event) => {
  shift = event.shiftKey;
}, true);
document.addEventListener("change", (event) => {
  const box = event.target;
  if (box.matches("#rows input[name='turn']")) pick(box, box.checked);
  if (box.matches("[data-pick-all]")) {
    for (const one of boxes()) box.checked ? chosen.add(one.value) : chosen.delete(one.value);
    show();
  }
  if (box === every) {
    if (every.checked) for (const one of boxes()) chosen.add(one.value);
    show();
  }
});
bar.addEventListener("reset", (event) => {
  event.preventDefault();
  chosen.clear();
  show();
});
bar.addEventListener("submit", (event) => {
  const { backtest } = event.submitter?.dataset ?? {};
  if (!backtest) return;
  event.preventDefault(); // ids are none of a backtest's filters
  location.assign(`${backtest}?${document.getElementById("timeline").dataset.query}`);
});
/* The older one stands left: ids tell when a turn was made. */
bar.querySelector("[data-compare]").addEventListener("click", (event) => {
  const [left, right] = [...chosen].sort();
  location.assign(`${event.target.dataset.compare}?left=${left}&right=${right}`);
});
document.addEventListener("bulk-done", () => bar.reset());
document.addEventListener("htmx:wsAfterMessage", show);
document.addEventListener("htmx:afterSettle", (event) => event.detail.target?.id === "timeline" && show());
show();
