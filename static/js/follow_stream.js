/* The page follows an answer that streams, until its reader scrolls away; scrolled back to its end, it follows again. */
const SLACK = 48; // px below which the end of the text still counts as seen
let following = Boolean(document.querySelector(".live")); // elsewhere, once its reader has its end before them

const end = () => document.querySelector("[ws-connect] #draft");

function isSeen(element, slack = 0) {
  const below = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingBlockEnd) || 0;
  return element.getBoundingClientRect().bottom <= innerHeight - below + slack;
}

/* Where everything that can scroll stands, so that what this module scrolls itself is not taken for the reader's. */
const tops = new WeakMap();
function remember(element) {
  for (let each = element; each; each = each.parentElement) tops.set(each, each.scrollTop);
}

function keep() {
  const element = following && end();
  if (!element || isSeen(element)) return;
  element.scrollIntoView({ block: "end", behavior: "instant" });
  remember(element);
}

/* From here on, whatever the reader had scrolled to. */
export function follow() {
  following = true;
  remember(document.getElementById("newest"));
  requestAnimationFrame(keep);
}

/* Text that comes moves the end out of sight, and scrolls nothing upwards: only a reader does. */
addEventListener("scroll", ({ target }) => {
  const element = end();
  const moved = target === document ? document.scrollingElement : target;
  const before = tops.get(moved) ?? 0;
  tops.set(moved, moved.scrollTop);
  if (!element || !moved.contains(element)) return;
  if (isSeen(element, SLACK)) following = true;
  else if (moved.scrollTop < before) following = false;
}, { passive: true, capture: true });
document.addEventListener("htmx:wsAfterMessage", keep);
