/* The controls of a turn that runs: keys press their buttons, an approval's time runs down (`deadline.js`), and what a
   person is typing is never replaced by what the socket pushes. */
import "./deadline.js";

/* What is not shown, to who may only watch, is not pressed by its key either. */
export function operate(name) {
  const control = document.querySelector(`[data-operate="${name}"]`);
  if (control?.checkVisibility()) control.click();
}

/* Opened once more on the same record, the drawer is as it was left. */
function isOpenAlready(link) {
  const seen = document.querySelector("#operate-panel [name=expected_seq]");
  return Boolean(seen) && seen.value === link.dataset.seq;
}

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (event.detail.target.querySelector?.("dialog[open]")) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  const from = event.target;
  if (from.matches?.("[data-operate=change]") && isOpenAlready(from)) event.preventDefault();
  if (from.closest?.("#operate")) document.getElementById("operate-told").replaceChildren();
  if (from.closest?.("#break-form")) from.querySelector(".told-here").replaceChildren();
});
/* Only what differs goes out. `data-typed`: it was typed before a try that was refused, so that it was shown as it is. */
const FIELDS = ":is(textarea, select, input:not([type=hidden]))[name]:not([data-typed])";
const shownFirst = (field) =>
  field.matches("select") ? [...field.options].find((one) => one.defaultSelected) ?? field.options[0] : field;

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (!target.closest?.("#operate-panel form")) return;
  for (const field of target.querySelectorAll(FIELDS)) {
    const first = shownFirst(field);
    if (field.value === (first.defaultValue ?? first.value)) delete detail.parameters[field.name];
  }
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id !== "operate-panel") return; // none where a page of the history is shown again
  const wrong = event.detail.target.querySelector(".wrong :is(input, select, textarea)");
  (wrong ?? event.detail.target.querySelector("#operate-title"))?.focus();
});
