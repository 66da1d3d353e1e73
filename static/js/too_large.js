export const TOO_LARGE = 413; // status

/* A form that is too large to be read is answered by a note, which stands above its last row; what was typed stays. */
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const form = detail.requestConfig.elt.closest("form");
  if (detail.xhr.status !== TOO_LARGE || !form) return;
  const place = form.querySelector(":scope > .too-large") ?? document.createElement("div");
  place.className = "too-large";
  form.lastElementChild.before(place);
  Object.assign(detail, { shouldSwap: true, target: place, swapOverride: "innerHTML" });
});
document.addEventListener("htmx:beforeRequest", ({ target }) => {
  target.closest?.("form")?.querySelector(":scope > .too-large")?.remove();
});
