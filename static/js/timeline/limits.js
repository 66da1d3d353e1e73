/* The limits of the rows in sight: those that come into sight together are asked for in one request. */
const TOGETHER_MS = 60;
const asked = new WeakSet();
let waiting = [];

async function ask() {
  const cells = waiting;
  const query = new URLSearchParams(cells.map((cell) => ["turn", cell.id.slice("limit-".length)]));
  waiting = [];
  const answer = await fetch(`/turns/limits?${query}`, { headers: { "HX-Request": "true" } }).catch(() => undefined);
  if (!answer?.ok) {
    for (const cell of cells) {
      cell.textContent = "not loaded";
      asked.delete(cell); // the list asks again when it changes
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

const sight = new IntersectionObserver((seen) => {
  for (const { target } of seen.filter(({ isIntersecting }) => isIntersecting)) {
    sight.unobserve(target);
    if (!waiting.length) setTimeout(ask, TOGETHER_MS);
    waiting.push(target);
  }
});

function watch() {
  for (const cell of document.querySelectorAll("td.needs-limit")) {
    if (asked.has(cell)) continue;
    asked.add(cell);
    sight.observe(cell);
  }
}

/* Rows come with the page, with a swap, and through the socket. */
for (const event of ["htmx:load", "htmx:wsAfterMessage"]) document.addEventListener(event, watch);
watch();
