/* A file that is dropped anywhere on the page goes into the form marked data-drop, which is then sent. */
const form = document.querySelector("form[data-drop]");
const input = form?.querySelector("input[type=file]");
const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
let inside = 0; // dragenter and dragleave come for every element on the way

const cover = (shown) => document.documentElement.toggleAttribute("data-dropping", shown);

addEventListener("dragenter", (event) => {
  if (!holdsFile(event)) return;
  inside += 1;
  cover(true);
});
addEventListener("dragleave", (event) => {
  if (!holdsFile(event)) return;
  inside = Math.max(0, inside - 1);
  if (!inside) cover(false);
});
addEventListener("dragover", (event) => holdsFile(event) && event.preventDefault());
addEventListener("drop", (event) => {
  if (!form || !event.dataTransfer.files.length) return;
  event.preventDefault();
  inside = 0;
  cover(false);
  input.files = event.dataTransfer.files;
  if (form.querySelector("input[type=checkbox]")) input.dispatchEvent(new Event("change", { bubbles: true }));
  else form.requestSubmit();
});
