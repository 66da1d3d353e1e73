/* Whether single keys do something: one choice for all pages, kept in this browser. The box stands in a list of keys. */
const KEY = "whystop-keys";
let kept = true; // where storage is switched off, the choice holds for this page only

export function enabled() {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return kept;
  }
}

/* A list of keys shows the choice as it stands, whichever page it was made on. */
export function list(dialog) {
  const box = dialog.querySelector("#keys-on");
  if (box) box.checked = enabled();
  dialog.showModal();
}

document.addEventListener("change", ({ target }) => {
  if (target.id !== "keys-on") return;
  kept = target.checked;
  try {
    localStorage.setItem(KEY, kept ? "on" : "off");
  } catch {
    // storage is switched off
  }
});
