/* By what one steps: buttons, the slider, states of the diagram, keys. */
import { operate } from "./operator_controls.js";
import { enabled, list } from "./single_keys.js";
import * as stepper from "./stepper.js";

const KEYS = {
  ArrowLeft: () => stepper.move("back"),
  ArrowRight: () => stepper.move("forward"),
  Home: () => stepper.move("first"),
  End: () => stepper.move("last"),
  j: () => stepper.move("forward"),
  k: () => stepper.move("back"),
  " ": () => stepper.togglePlaying(),
  s: () => nextSpeed(),
  c: () => stepper.copyAddress(document.querySelector("[data-copy-step]")),
  b: () => openBreak(stepper.state()),
  h: () => operate("hold"),
  g: () => operate("release"),
  n: () => operate("step"),
  e: () => operate("change"),
  "?": () => open("keys-help"),
};
const CLICKS = {
  "[data-go]": (button, event) => (event.preventDefault(), stepper.move(button.dataset.go)),
  "[data-play]": () => stepper.togglePlaying(),
  "[data-open]": (button) => open(button.dataset.open),
  "[data-close]": (button) => button.closest("dialog").close(),
  "[data-copy-step]": (button) => stepper.copyAddress(button),
  ".node[href]": (node, event) => plain(event) && (event.preventDefault(), stepper.enter(node.dataset.state)),
};

const plain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
const open = (id) => document.getElementById(id) && list(document.getElementById(id));

function openBreak(here) {
  if (document.body.classList.contains("watching")) return;
  const choice = document.getElementById("break-state");
  const focused = document.activeElement?.closest?.(".node")?.dataset.state;
  const wanted = [focused, here].find((state) => [...(choice?.options ?? [])].some((option) => option.value === state));
  if (wanted) choice.value = wanted;
  open("break-dialog");
}

function nextSpeed() {
  const select = document.querySelector("[data-speed]");
  select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
  stepper.setSpeed(select.value);
  document.getElementById("step-status").textContent = `Speed ${select.selectedOptions[0].text}`;
}

/* Whether a key means something else where it is pressed. A dialog that was just closed may hold the focus until the next
   frame is drawn: a key that is pressed until then belongs to the page. */
function taken(event) {
  const closed = event.target.closest("dialog:not([open])");
  const place = closed ? document.body : event.target;
  if (document.querySelector("dialog[open]")) return true;
  if (place.closest("input:not([type=range]), textarea, select, [contenteditable]")) return true;
  if (event.key === " " && place.closest("button, a, summary, input")) return true;
  if (place.closest("pre")) return true;
  return ["Home", "End", " "].includes(event.key) && Boolean(place.closest("[tabindex='0']"));
}

document.addEventListener("click", (event) => {
  for (const [selector, act] of Object.entries(CLICKS)) {
    const found = event.target.closest?.(selector);
    if (found) return act(found, event);
  }
  if (event.target.matches?.("dialog")) event.target.close(); // beside its content
  return undefined;
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-speed]")) stepper.setSpeed(event.target.value);
});
document.addEventListener("input", (event) => {
  if (event.target.matches(".track input")) stepper.go(Number(event.target.value));
});
document.addEventListener("pointerdown", (event) => {
  const track = event.target.closest?.(".track");
  if (!track) return;
  track.setPointerCapture(event.pointerId);
  stepper.slideTo(track, event.clientX);
  track.querySelector("input").focus({ preventScroll: true });
  event.preventDefault();
});
document.addEventListener("pointermove", (event) => {
  const track = event.target.closest?.(".track");
  if (track?.hasPointerCapture(event.pointerId)) stepper.slideTo(track, event.clientX);
});
document.addEventListener("keydown", (event) => {
  if (event.key.length === 1 && !enabled()) return;
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS) || !stepper.count() || taken(event)) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.xhr.status === 204) event.target.closest?.("dialog[open]")?.close();
});
