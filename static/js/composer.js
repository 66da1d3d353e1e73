/* Ctrl+Enter (or ⌘+Enter) sends; a prompt that was sent empties the form, one that was refused stays in it. */
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("#composer")?.requestSubmit();
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "conversation") return;
  const prompt = document.getElementById("prompt_input");
  prompt.value = "";
  for (const wrong of document.querySelectorAll("#composer .wrong")) wrong.classList.remove("wrong");
  for (const error of document.querySelectorAll("#composer .error")) error.remove();
});
document.addEventListener("htmx:afterSettle", () => {
  document.querySelector("#composer .wrong :is(textarea, input)")?.focus();
});
