/* While no server answers a page's socket, what the page shows may be old, and it says so. One that is back within
   moments, as after a new start, is worth no word. */
const MOMENTS = 3_000;
const ASKED_AGAIN = new Set([1006, 1011, 1012, 1013]); // closes after which htmx opens a socket anew
const lost = new Set();
const note = document.createElement("p");
let soon;

note.className = "note warning unheard";
note.textContent = "Connection lost. Retrying…";

/* What the page has replaced meanwhile waits for nothing. */
function waits() {
  for (const element of lost) if (!element.isConnected) lost.delete(element);
  return lost.size > 0;
}

function tell() {
  soon = undefined;
  if (waits()) document.getElementById("messages").append(note);
}

document.addEventListener("htmx:wsClose", ({ target, detail }) => {
  if (!ASKED_AGAIN.has(detail.event.code)) return;
  lost.add(target);
  soon ??= setTimeout(tell, MOMENTS);
});
document.addEventListener("htmx:wsOpen", ({ target }) => {
  lost.delete(target);
  settle();
});
/* What was lost may be replaced by what needs no socket, such as a turn that has ended: none is opened again then. */
document.addEventListener("htmx:wsAfterMessage", settle);
document.addEventListener("htmx:afterSettle", settle);

function settle() {
  if (!waits()) note.remove();
}
