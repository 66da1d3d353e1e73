/* A part of the page that is asked for again from within keeps the focus: once it no longer waits for an answer, and if
   the focus has not moved on, the part itself has it, so that the keyboard goes on there. Parts with a tabindex only. */
let held = "";

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  const part = detail.target;
  if (part?.id && part.hasAttribute("tabindex") && part.contains(document.activeElement)) held = part.id;
});

document.addEventListener("htmx:afterSettle", () => {
  const part = held && document.getElementById(held);
  if (!part || part.matches('[hx-trigger^="every"]')) return;
  held = "";
  if (document.activeElement === document.body) part.focus();
});
