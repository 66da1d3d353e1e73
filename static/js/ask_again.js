/* What a part asks for by itself, when it is loaded or told of news, nobody would ask for again; and who chose something
   in a form chose it once. While no answer comes, it is asked for again: when a socket of the page is open, and after a
   pause that grows. Its note stays as it is. */
const LONGEST_PAUSE = 10_000; // ms
const NOT_BEGUN = "X-Not-Begun"; // of an answer that came before anything was done
const owed = new Map(); // by element: how many times it was asked for in vain, the timer of the next time, and whether
// that is under way

export const notBegun = (xhr) => xhr.getResponseHeader(NOT_BEGUN) !== null;

/** Whether it is asked for again by itself. */
export const isAskedAgain = (element) => owed.has(element);

/** Whether that a part is missing is said already, of one that was asked for again. */
export const saidBefore = (element, part) => owed.get(element)?.tries > 1 && Boolean(part?.querySelector(".unanswered"));

function owe({ requestConfig, xhr }) {
  const { elt, verb, triggeringEvent } = requestConfig;
  const byItself = !triggeringEvent?.isTrusted && elt.matches("[hx-get]:not([hx-trigger^=every])");
  if (verb !== "get" || !(byItself || elt.matches("form[hx-get]"))) return;
  const tries = settled(elt) + 1;
  if (xhr.status > 0 && !notBegun(xhr)) return;
  const pause = (0.5 + Math.random() / 2) * Math.min(1000 * 2 ** tries, LONGEST_PAUSE);
  owed.set(elt, { tries, timer: setTimeout(askAgain, pause, elt) });
}

/** Forgets what an element waits for; gives how many times it was asked for in vain. */
function settled(element) {
  const { tries = 0, timer } = owed.get(element) ?? {};
  clearTimeout(timer);
  owed.delete(element);
  return tries;
}

/** Once at a time: what htmx queues behind a request under way has a promise of its own, whose failure nobody catches. */
function askAgain(element) {
  const waiting = owed.get(element);
  clearTimeout(waiting?.timer);
  if (!element.isConnected) settled(element);
  else if (waiting && !waiting.asked) {
    waiting.asked = true;
    window.htmx.ajax("GET", element.getAttribute("hx-get"), { source: element }).catch(() => {}); // said by an event
  }
}

for (const failed of ["htmx:sendError", "htmx:responseError"])
  document.addEventListener(failed, ({ detail }) => owe(detail), { capture: true }); // before it is said
document.addEventListener("htmx:beforeSwap", ({ detail }) => detail.xhr.status < 400 && settled(detail.requestConfig.elt));
document.addEventListener("htmx:wsOpen", () => [...owed.keys()].forEach(askAgain));
