/* What was sent and not answered, or answered by an error page, is said beside it, so that nobody takes it for done; what
   was typed stays. A place with data-told says where instead. One that is too large has a note of its own (below).
   Where something is only asked for, the old result stays, is marked as old (data-stale), and that is said. A part that
   was never shown says why it is missing, in place of what stood in for it (data-pending). What a busy server has not
   begun says so, and a form that may wait (data-waits) is sent again by itself. So is a form that only asks. */
import { isAskedAgain, notBegun, saidBefore } from "./ask_again.js";

const TOO_LARGE = 413;
const GONE = "The server did not answer, so this may not have been done. Check before you try again.";
const SAID = {
  403: "Permission denied, or the page has expired. Reload the page, then try again.",
  404: "This item no longer exists. Reload the page.",
  503: "The database is not available, so this may not have been done. Wait a moment and check before you try again.",
};
const BUSY = "The server is working on too many requests. Nothing was done. Try again in a moment.";
const WAITING = "The server is working on too many requests. This one waits, and is sent again by itself.";
const LEAST_PAUSE = 2000; // ms between two tries, and up to twice as much, so that those who wait do not come together
const REFUSED = "This was refused, and nothing was done. Reload the page, then try again.";
const LATE = "The server has not answered yet, so the result shown is not for these values.";
const LONG = 3000; // ms without an answer until that is said
const OLD = "so the result shown is not for these values.";
const OUTDATED = "so this may be out of date.";
const MISSING = "so this is not shown. Reload the page.";
const FAILED = "The server failed; its log has the cause. Reload the page before you try again.";

function noted(text) {
  const note = document.createElement("p");
  note.className = "note error unanswered";
  note.setAttribute("role", "alert");
  note.textContent = text;
  return note;
}

/** Why there is no new result, by the answer; status 0: there was none. `then`: what follows from it. */
function because(xhr, then) {
  const { status } = xhr;
  if (status === 0) return `The server did not answer, ${then}`;
  if (notBegun(xhr)) return `The server is working on too many requests, ${then}`;
  if (status === 503) return `The database is not available, ${then}`;
  return status < 500 ? `The server refused this, ${then}` : `The server failed, ${then}`;
}

const said = new WeakMap(); // the note of each form
const waiting = new WeakMap(); // of each form that asks, the timer of its note

/** What the server says of it, on a page or in a note of its own. */
function toldBy({ responseText }) {
  const page = new DOMParser().parseFromString(responseText, "text/html");
  return page.querySelector(".note.error, .empty h1 + p")?.textContent;
}

function say(text, { requestConfig, target, shouldSwap, xhr }) {
  const form = requestConfig.elt.closest("form");
  const asks = requestConfig.verb === "get";
  if (shouldSwap && asks) return;
  if (!form) {
    if (!asks) sayBeside(requestConfig.elt, text);
    else if (!saidBefore(requestConfig.elt, target)) sayInPlace(target, xhr, requestConfig.elt.matches("a"));
    return;
  }
  if (asks) target?.setAttribute("data-stale", "");
  if (asks && [form, target].some((part) => saidBefore(requestConfig.elt, part))) return;
  const again = isAskedAgain(requestConfig.elt) ? "Retrying…" : "Try again.";
  sayOf(form, noted(asks ? `${because(xhr, OLD)} ${again}` : text), asks ? target : null);
}

/** In the place of the form's notes, instead of what was said before. `result`: what it asks for. */
function sayOf(form, note, result) {
  const elsewhere = form.closest("[data-told]")?.dataset.told;
  forget(form);
  said.set(form, note);
  if (elsewhere) document.getElementById(elsewhere).replaceChildren(note);
  else place(note, form, result);
}

function sayBusy(detail) {
  const form = detail.requestConfig.elt.closest("form[data-waits]");
  say(form ? WAITING : BUSY, detail);
  if (!form) return;
  said.get(form).classList.remove("error");
  setTimeout(() => form.isConnected && window.htmx.trigger(form, "resend"), LEAST_PAUSE * (1 + Math.random()));
}

/** In the part of the page that was asked for; `pressed`: by somebody who waits for it. */
function sayInPlace(part, xhr, pressed) {
  const missing = part.querySelector("[data-pending]") !== null;
  for (const each of part.querySelectorAll("[data-pending], .unanswered")) each.remove();
  if (part.ariaBusy) part.ariaBusy = "false";
  part.toggleAttribute("data-stale", !missing);
  const note = noted(toldBy(xhr) ?? because(xhr, missing ? MISSING : OUTDATED));
  part.prepend(note);
  if (pressed) note.scrollIntoView({ block: "nearest" });
}

/** After a button that belongs to no form. */
function sayBeside(button, text) {
  if (button.nextElementSibling?.matches(".unanswered")) button.nextElementSibling.remove();
  button.after(noted(text));
}

/** Beside what was sent; above the old result where that place is out of sight. */
function place(note, form, result) {
  form.lastElementChild.before(note);
  const { top, bottom } = note.getBoundingClientRect();
  if (!note.checkVisibility() || top < 0 || bottom > innerHeight) result?.prepend(note);
}

const forget = (form) => said.get(form)?.remove();

document.addEventListener("htmx:sendError", ({ detail }) => say(GONE, detail));
document.addEventListener("htmx:responseError", ({ detail }) => {
  const { status } = detail.xhr;
  if (notBegun(detail.xhr)) sayBusy(detail);
  else if (status !== TOO_LARGE) say(SAID[status] ?? (status < 500 ? REFUSED : FAILED), detail);
});
document.addEventListener("htmx:afterSwap", ({ detail }) => detail.target?.removeAttribute("data-stale"));
document.addEventListener("htmx:beforeSwap", ({ detail }) => detail.xhr.status < 400 && forget(detail.requestConfig.elt));
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  const form = target.closest?.("form");
  if (!isAskedAgain(target)) forget(form);
  form?.querySelector(":scope > .too-large")?.remove();
});

/* What a form asks for and has not got yet: the old result is marked as old, and after some time that is said. */
document.addEventListener("htmx:beforeSend", ({ detail: { requestConfig, target } }) => {
  if (!requestConfig.elt.matches("form[hx-get]")) return;
  target.setAttribute("data-late", "");
  waiting.set(requestConfig.elt, setTimeout(sayLate, LONG, requestConfig.elt, target));
});
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig, target } }) => {
  clearTimeout(waiting.get(requestConfig.elt));
  target?.removeAttribute("data-late");
});

function sayLate(form, result) {
  const note = noted(LATE);
  note.classList.remove("error");
  sayOf(form, note, result);
}

/* A form that is too large to be read is answered by a note, which stands above its last row; what was typed stays. */
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const form = detail.requestConfig.elt.closest("form");
  if (detail.xhr.status !== TOO_LARGE || !form) return;
  const place = form.querySelector(":scope > .too-large") ?? document.createElement("div");
  place.className = "too-large";
  form.lastElementChild.before(place);
  Object.assign(detail, { shouldSwap: true, target: place, swapOverride: "innerHTML" });
});
