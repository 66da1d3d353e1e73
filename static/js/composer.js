/* Enter sends, Shift+Enter breaks the line; a prompt that was sent empties the form and shows its turn, one that was refused stays. */
document.addEventListener("keydown", (event) => {
  const prompt = event.target.id === "prompt_input" && event.key === "Enter";
  if (!prompt || event.shiftKey || event.isComposing) return; // what is being composed takes its own Enter
  event.preventDefault();
  event.target.form.requestSubmit();
});
document.addEventListener("htmx:afterRequest", (event) => {
  const sent = event.detail.elt.id === "composer" && event.detail.successful;
  if (!sent || event.detail.xhr.getResponseHeader("HX-Retarget")) return;
  const prompt = document.getElementById("prompt_input");
  prompt.value = "";
  for (const wrong of document.querySelectorAll("#composer .wrong")) wrong.classList.remove("wrong");
  for (const error of document.querySelectorAll("#composer .error")) error.remove();
  const waiting = document.querySelector("#line li:last-child");
  if (waiting) waiting.scrollIntoView({ block: "nearest", behavior: "instant" });
  else document.getElementById("newest").scrollIntoView({ block: "start", behavior: "instant" });
});
document.addEventListener("htmx:afterSettle", () => {
  document.querySelector("#composer .wrong :is(textarea, input)")?.focus();
});
