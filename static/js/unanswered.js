/* What was sent and not answered, or answered by an error page, is said beside it, so that nobody takes it for done; what
   was typed stays. A place with data-told says where instead. One that is too large has a note of its own.
   Where a form only asks for a result, the old result stays, is marked as old (data-stale), and that is said. */
const TOO_LARGE = 413;
const GONE = "The server does not answer, so this may not have been done. Once it is back, look before you try again.";
const SAID = {
  403: "This was refused: you may not do it, or the page is too old. Reload the page, then try again.",
  404: "This is not there any more; reload the page.",
  503: "The database is away, so this may not have been done. In a moment, look before you try again.",
};
const REFUSED = "This was refused, and nothing was done. Reload the page, then try again.";
const FAILED = "The server failed to do this, and its log says why. Reload the page before you try again.";

function noted(text) {
  const note = document.createElement("p");
  note.className = "note error unanswered";
  note.setAttribute("role", "alert");
  note.textContent = text;
  return note;
}

const STALE = "The server did not answer, so the result shown is not for these values. Try again.";

function say(text, { requestConfig, target, shouldSwap }) {
  const form = requestConfig.elt.closest("form");
  const asks = requestConfig.verb === "get";
  if (!form || (asks && shouldSwap)) return;
  if (asks) target?.setAttribute("data-stale", "");
  const elsewhere = form.closest("[data-told]")?.dataset.told;
  const note = noted(asks ? STALE : text);
  form.querySelector(":scope > .unanswered")?.remove();
  if (elsewhere) document.getElementById(elsewhere).replaceChildren(note);
  else form.lastElementChild.before(note);
}

document.addEventListener("htmx:sendError", ({ detail }) => say(GONE, detail));
document.addEventListener("htmx:responseError", ({ detail }) => {
  const { status } = detail.xhr;
  if (status !== TOO_LARGE) say(SAID[status] ?? (status < 500 ? REFUSED : FAILED), detail);
});
document.addEventListener("htmx:afterSwap", ({ detail }) => detail.target?.removeAttribute("data-stale"));
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  target.closest?.("form")?.querySelector(":scope > .unanswered")?.remove();
});
