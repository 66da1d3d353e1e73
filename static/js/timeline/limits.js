/* The limits of the rows: those in sight are asked for at once, in one request, and all others of the page soon after. */
const TOGETHER_MS = 60;
const REST_MS = 1000;
const seen = new WeakSet(); // cells that are watched, or were asked for
let waiting = [];
const unasked = new Set(); // cells that are out of sight

async function ask() {
  const cells = waiting;
  const query = new URLSearchParams(cells.map((cell) => ["turn", cell.id.slice("limit-".length)]));
  waiting = [];
  const answer = await fetch(`/turns/limits?${query}`, { headers: { "HX-Request": "true" } }).catch(() => undefined);
  if (!answer?.ok) {
    for (const cell of cells) {
      cell.textContent = "not loaded";
      seen.delete(cell); // the list asks again when it changes
    }
    return;
  }
  const told = document.createElement("template");
  told.innerHTML = await answer.text();
  for (const { id, childNodes } of told.content.children) {
    const cell = document.getElementById(id); // none where its row has gone meanwhile
    cell?.replaceChildren(...childNodes);
    if (cell) htmx.process(cell);
  }
}

function take(cell) {
  sight.unobserve(cell);
  unasked.delete(cell);
  if (!cell.isConnected) return;
  if (!waiting.length) setTimeout(ask, TOGETHER_MS);
  waiting.push(cell);
}

const sight = new IntersectionObserver((entries) => {
  for (const { target } of entries.filter(({ isIntersecting }) => isIntersecting)) take(target);
});

/* Nobody has to scroll to a row for it. A cell of a column that is not shown waits until it is. */
function takeRest() {
  for (const cell of unasked) if (!cell.isConnected || cell.checkVisibility()) take(cell);
}

function watch() {
  for (const cell of document.querySelectorAll("td.needs-limit")) {
    if (seen.has(cell)) continue;
    seen.add(cell);
    unasked.add(cell);
    sight.observe(cell);
  }
  if (unasked.size) setTimeout(takeRest, REST_MS);
}

/* Rows come with the page, with a swap, and through the socket. */
for (const event of ["htmx:load", "htmx:wsAfterMessage"]) document.addEventListener(event, watch);
watch();
