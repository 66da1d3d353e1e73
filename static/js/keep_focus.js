/* What has the focus may be replaced, or disabled while its request is under way. The focus then goes to the same control
   in what has come, else to the nearest part that is still there, so that Tab goes on where it was. While that part asks
   for itself again and again, it is focused by the next key only: a screen reader would read it out each time. */
const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
const ASKING = '[hx-trigger^="every"]';
const NAMING = ["id", "name", "type", "href"];
let held = null; // {control, key, parts}: what had the focus last, and the ids of the parts that it is in

/** What a control is called by: its names and its form, and its text where nothing else tells it from others. */
function keyOf(control) {
  const names = NAMING.map((name) => control.getAttribute(name));
  const form = control.closest("form")?.getAttribute("action");
  const value = ["checkbox", "radio", "submit"].includes(control.type) ? control.value : "";
  const data = Object.entries(control.dataset);
  const text = data.length || control.matches("input, select, textarea, a") ? "" : control.textContent.trim();
  return JSON.stringify([control.tagName, names, form, value, data, text]);
}

function partsOf(control) {
  const parts = [];
  for (let part = control; part && part.tagName !== "MAIN"; part = part.parentElement) if (part.id) parts.push(part.id);
  return parts;
}

const canTake = (control) => control.isConnected && !control.disabled && control.checkVisibility();

/** Nothing has the focus, or a part has it in place of its control, which may come again. */
function isLost() {
  const active = document.activeElement;
  return held && (active === document.body || (held.parts.includes(active.id) && !active.matches(CONTROLS)));
}

function take(element) {
  if (!element.matches(CONTROLS) && !element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/** The same control, if it is there again. */
function again({ control, key, parts }) {
  if (canTake(control)) return control;
  const places = parts.map((id) => document.getElementById(id)).filter(Boolean);
  const controls = places.flatMap((part) => [part, ...part.querySelectorAll(CONTROLS)]);
  return controls.find((other) => other.matches(CONTROLS) && canTake(other) && keyOf(other) === key);
}

const nearest = ({ parts }) => parts.map((id) => document.getElementById(id)).find((part) => part && canTake(part));

function giveBack(byKey) {
  if (!isLost()) return;
  const control = again(held);
  const part = control ?? nearest(held);
  if (part && (control || byKey || !part.closest(ASKING))) take(part);
}

document.addEventListener("focusin", ({ target }) => {
  if (!isLost()) held = { control: target, key: keyOf(target), parts: partsOf(target) };
});
document.addEventListener("pointerdown", () => (held = null), true);
document.addEventListener("keydown", () => giveBack(true), true);
for (const done of ["htmx:afterSettle", "htmx:afterRequest", "htmx:wsAfterMessage"])
  document.addEventListener(done, () => queueMicrotask(() => giveBack(false))); // after what others do then
