/* Copies what stands in an element (data-copy: its id), and says so. Where the page is not served securely the browser
   has no clipboard for it: the text is selected then, to be copied by hand. */
export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    said(button, "Copied");
  } catch {
    said(button, byHand(text) ? "Copied" : "Not copied");
  }
}

function byHand(text) {
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

function said(button, word) {
  const status = document.getElementById("step-status");
  if (status) status.textContent = word;
  if (!button) return;
  button.dataset.said = word;
  setTimeout(() => delete button.dataset.said, 1600);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(document.getElementById(button.dataset.copy).textContent, button);
});
