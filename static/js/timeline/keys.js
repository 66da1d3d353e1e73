/* Single keys, and the dialogs. */
import { enabled, list } from "../single_keys.js";
import { toggle } from "./tail.js";

const dialog = document.getElementById("dialog");
const keys = document.getElementById("keys");

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
  "?": () => list(keys),
};
PRESSED.X = PRESSED.x;

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type='checkbox'], [type='radio']), textarea, select, dialog, .brush");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !enabled() || !(event.key in PRESSED)) return;
  event.preventDefault();
  PRESSED[event.key](event);
});
document.addEventListener("focusin", (event) => {
  if (!event.target.closest("dialog")) place = event.target.closest("#rows tr")?.id ?? "";
});

/* A row that was replaced while a dialog stood over it has the focus again. */
function back() {
  if (document.activeElement === document.body && place) link(document.getElementById(place))?.focus({ preventScroll: true });
}

document.addEventListener("close", back, true);
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-open]");
  if (opener) list(document.getElementById(opener.dataset.open));
  if (event.target.closest("dialog [data-close]")) {
    event.preventDefault();
    dialog.close();
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "dialog-body" && !dialog.open) dialog.showModal();
});
