/* The transcript at a step: what came later is dimmed. Of a long one the page has what stands around the step; all of it
   is asked for once, before anyone steps. */
let marked = { root: null, elements: [] };
let asked = "";

function collect(root) {
  const elements = [...root.querySelectorAll("[data-from]")].map((element) => ({
    element,
    from: Number(element.dataset.from),
    until: Number(element.dataset.until ?? 0),
  }));
  marked = { root, elements };
}

export const forget = () => (marked = { root: null, elements: [] });

export function draw(now) {
  const root = document.getElementById("answer");
  if (!root) return;
  if (marked.root !== root) collect(root);
  let current = null;
  for (const { element, from, until } of marked.elements) {
    const mark = now < from ? "future" : until && now >= until ? "past" : "now";
    if (element.dataset.when !== mark) element.dataset.when = mark;
    if (from <= now && element.classList.contains("piece")) current = element;
  }
  if (root.classList.contains("long") && current) bring(root, current);
}

/* Scrolls the transcript alone, never the page. */
function bring(root, piece) {
  const [outer, inner] = [root.getBoundingClientRect(), piece.getBoundingClientRect()];
  if (inner.bottom > outer.bottom || inner.bottom < outer.top + 60) root.scrollTop += inner.bottom - outer.bottom + outer.height / 3;
}

/* Calls `then` once the whole of a long transcript stands there. */
export async function complete(then) {
  const root = document.getElementById("answer");
  const address = root?.dataset.rest;
  if (!address || asked === address) return;
  asked = address;
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  const now = document.getElementById("answer");
  if (!answer.ok || now !== root) return;
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("answer");
  if (!parsed) return;
  parsed.classList.add("long");
  parsed.tabIndex = 0;
  root.replaceWith(document.adoptNode(parsed));
  forget();
  then();
}
