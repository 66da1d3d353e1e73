/* Single keys, which one can switch off, and the dialogs. */
import { toggle } from "./tail.js";

const KEY = "whystop-keys";
const dialog = document.getElementById("dialog");
const keys = document.getElementById("keys");
const on = document.getElementById("keys-on");

try {
  on.checked = localStorage.getItem(KEY) !== "off";
} catch {
  // storage is switched off: the keys are on
}

let place = ""; // the row one is at, by id: rows are replaced while one walks them

const rows = () => [...document.querySelectorAll("#rows tr")];
const link = (row) => row?.querySelector(".c-prompt a");

function go(by) {
  const all = rows();
  const here = all.findIndex((row) => row.id === place);
  const row = all[Math.max(0, Math.min(all.length - 1, here < 0 ? 0 : here + by))];
  link(row)?.focus();
}

/* As a click would, with shift where the key was pressed with it: a stretch of rows. */
function pick({ shiftKey }) {
  const box = place && document.getElementById(place)?.querySelector(".c-pick input");
  if (box) box.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey }));
}

const PRESSED = {
  "/": () => document.getElementById("filter_q").select(),
  j: () => go(1),
  k: () => go(-1),
  x: pick,
  p: () => toggle(),
  "?": () => keys.showModal(),
};
PRESSED.X = PRESSED.x;

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type='checkbox'], [type='radio']), textarea, select, dialog, .brush");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !on.checked || !(event.key in PRESSED)) return;
  event.preventDefault();
  PRESSED[event.key](event);
});
document.addEventListener("focusin", (event) => {
  place = event.target.closest("#rows tr")?.id ?? "";
});
document.addEventListener("htmx:wsAfterMessage", () => {
  if (document.activeElement === document.body && place) link(document.getElementById(place))?.focus({ preventScroll: true });
});
on.addEventListener("change", () => {
  try {
    localStorage.setItem(KEY, on.checked ? "on" : "off");
  } catch {
    // The choice holds for this page only.
  }
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-open]");
  if (opener) document.getElementById(opener.dataset.open).showModal();
  if (event.target.closest("dialog [data-close]")) {
    event.preventDefault();
    dialog.close();
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "dialog-body" && !dialog.open) dialog.showModal();
});
