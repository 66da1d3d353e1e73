/* The page follows an answer that streams, until its reader scrolls away; scrolled back to its end, it follows again. */
const SLACK = 48; // px below which the end of the text still counts as seen
let following = Boolean(document.querySelector(".live")); // elsewhere, once its reader has its end before them

const end = () => document.querySelector("[ws-connect] #draft");

function isSeen(element, slack = 0) {
  const below = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingBlockEnd) || 0;
  return element.getBoundingClientRect().bottom <= innerHeight - below + slack;
}

function keep() {
  const element = following && end();
  if (element && !isSeen(element)) element.scrollIntoView({ block: "end", behavior: "instant" });
}

/* From here on, whatever the reader had scrolled to. */
export function follow() {
  following = true;
  requestAnimationFrame(keep);
}

addEventListener("scroll", () => {
  const element = end();
  if (element) following = isSeen(element, SLACK);
}, { passive: true, capture: true });
document.addEventListener("htmx:wsAfterMessage", keep);
