/* Enter sends and Shift+Enter breaks the line, or the other way round, as this browser was told last. A prompt that was
   sent empties the form and shows its turn, one that was refused stays. */
import { follow } from "./follow_stream.js";

const KEY = "enter-breaks";
const choice = () => document.getElementById("enter-key");

document.addEventListener("keydown", (event) => {
  const prompt = event.target.id === "prompt_input" && event.key === "Enter";
  if (!prompt || event.isComposing) return; // what is being composed takes its own Enter
  if (event.shiftKey === (localStorage[KEY] !== "1")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});
document.addEventListener("change", (event) => {
  if (event.target === choice()) localStorage[KEY] = event.target.value;
});
const show = () => choice() && (choice().value = localStorage[KEY] === "1" ? "1" : "0");
show();
document.addEventListener("htmx:afterRequest", (event) => {
  const sent = event.detail.elt.id === "composer" && event.detail.successful;
  if (!sent || event.detail.xhr.getResponseHeader("HX-Retarget")) return;
  const prompt = document.getElementById("prompt_input");
  prompt.value = "";
  for (const wrong of document.querySelectorAll("#composer .wrong")) wrong.classList.remove("wrong");
  for (const error of document.querySelectorAll("#composer .errors")) error.remove();
  const waiting = document.querySelector("#line li:last-child");
  if (waiting) waiting.scrollIntoView({ block: "nearest", behavior: "instant" });
  else document.getElementById("newest").scrollIntoView({ block: "start", behavior: "instant" });
  follow();
});
document.addEventListener("htmx:afterSettle", () => {
  show();
  document.querySelector("#composer .wrong :is(textarea, input)")?.focus();
});

/* The agent's tab in the middle of the tabs; the page itself does not move. */
const tabs = document.querySelector(".tabs");
const here = tabs?.querySelector("[aria-current]");
if (here) tabs.scrollLeft = here.offsetLeft - (tabs.clientWidth - here.offsetWidth) / 2;
