/* Pausing the live list. It pauses by its button, and by itself while one reads further down or has chosen turns; the
   server then says how many wait (#new-turns), and lets them come when it is resumed. */
const WAITING = "Updates wait while turns are selected or the list is scrolled down. Pause until you resume (p)";
const LOST = "Connection lost: the list is not updated until it is back";
let socket;
let lost = false; // what is shown may be old
let said = "resume"; // to this socket
let byHand = false;
let away = false; // the list's beginning is out of sight

const chosen = () => document.querySelector("#rows input:checked") !== null;

export function tell() {
  if (!document.querySelector("#timeline[data-first]")) return;
  const wanted = byHand || away || chosen() ? "pause" : "resume";
  const button = document.querySelector("[data-tail]");
  if (button) {
    button.classList.toggle("lost", lost);
    button.classList.toggle("held", wanted === "pause");
    button.classList.toggle("paused", byHand);
    button.lastChild.data = byHand ? "Resume" : lost ? "Offline" : "Pause";
    button.title = lost ? LOST : byHand ? "Resume updates (p)" : wanted === "pause" ? WAITING : "Pause updates (p)";
  }
  if (!socket || wanted === said) return;
  said = wanted;
  socket.send(JSON.stringify({ tail: wanted }));
}

export function toggle() {
  byHand = !byHand;
  tell();
}

function resume() {
  byHand = false;
  away = false;
  for (const box of document.querySelectorAll("#rows input:checked")) box.click();
  scrollTo({ top: 0 });
  tell();
}

const seen = new IntersectionObserver(([entry]) => {
  away = !entry.isIntersecting && entry.boundingClientRect.top < 0;
  tell();
}, { rootMargin: "400px 0px 0px" });

function watch() {
  seen.disconnect();
  const table = document.querySelector("#timeline thead");
  if (table) seen.observe(table);
}

document.addEventListener("htmx:wsOpen", (event) => {
  if (event.target.id !== "timeline") return;
  socket = event.detail.socketWrapper;
  lost = false;
  event.target.dataset.live = "";
  said = "resume";
  tell();
});
document.addEventListener("htmx:wsClose", (event) => {
  // Closed by ourselves, it is open anew already.
  if (event.target.id !== "timeline" || event.detail.event.code === 1005) return;
  socket = undefined;
  lost = true;
  tell();
});
document.addEventListener("htmx:afterSettle", (event) => event.detail.target?.id === "timeline" && watch());
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-tail]")) toggle();
  const link = event.target.closest("[data-resume]");
  if (!link || !document.querySelector("#timeline[data-first]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  resume();
});
watch();
