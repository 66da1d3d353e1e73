/* While no server answers a page's socket, what the page shows may be old, and it says so. One that is back within
   moments, as after a new start, is worth no word. */
const MOMENTS = 3_000;
const ASKED_AGAIN = new Set([1006, 1011, 1012, 1013]); // closes after which htmx opens a socket anew
const lost = new Set();
const note = document.createElement("p");
let soon;

note.className = "note warning unheard";
note.textContent = "The server is not heard from, so what is shown here may be old. It is asked again until it answers.";

function tell() {
  soon = undefined;
  for (const element of lost) if (!element.isConnected) lost.delete(element);
  if (lost.size) document.getElementById("messages").append(note);
}

document.addEventListener("htmx:wsClose", ({ target, detail }) => {
  if (!ASKED_AGAIN.has(detail.event.code)) return;
  lost.add(target);
  soon ??= setTimeout(tell, MOMENTS);
});
document.addEventListener("htmx:wsOpen", ({ target }) => {
  lost.delete(target);
  if (!lost.size) note.remove();
});
