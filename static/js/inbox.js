/* How much needs a person stands before the title of every page; each entry is told of once, if this browser may. */
const KEY = "inbox-notify";
const UNABLE = "unable"; // phones have notifications for apps and service workers alone
const known = new Set();
let first = true;

const notifies = () => "Notification" in window && Notification.permission === "granted" && localStorage[KEY] === "1";

/* A notification; undefined where this browser makes none, whatever it was permitted. */
function notify(heading, more) {
  try {
    return new Notification(heading, more);
  } catch {
    localStorage[KEY] = UNABLE;
  }
}

function tell({ dataset }) {
  const note = notify(dataset.heading, { body: dataset.told, tag: dataset.entry });
  note?.addEventListener("click", () => {
    focus();
    note.close();
    location.assign(`/inbox#entry-${dataset.entry}`);
  });
}

/* What is there when a page opens was told of before, or is seen on it. `tag` keeps two windows from telling twice. */
function read(badge) {
  const count = Number(badge.dataset.count);
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = count ? `(${count}) ${title}` : title;
  const fresh = [...badge.querySelectorAll("[data-entry]")].filter(({ dataset }) => !known.has(dataset.entry));
  for (const entry of fresh) known.add(entry.dataset.entry);
  if (!first && document.hidden && notifies()) fresh.forEach(tell);
  first = false;
}

/* The entry that a notification led to; the list may be replaced before its reader has seen it. */
function mark() {
  for (const entry of document.querySelectorAll(".entry"))
    entry.toggleAttribute("data-called", `#${entry.id}` === location.hash);
}

document.addEventListener("htmx:wsAfterMessage", ({ target }) => {
  if (target.id !== "inbox-socket") return;
  read(document.getElementById("inbox-badge"));
  mark();
});
addEventListener("hashchange", mark);

/* A page that comes back out of htmx's history has a new button, so that none is held. */
const button = () => document.getElementById("inbox-notify");

/* Why this browser cannot notify; empty where it can, or was not asked yet. */
function barred() {
  if (!isSecureContext) return "Notifications need HTTPS";
  if (localStorage[KEY] === UNABLE) return "This browser does not show notifications of pages";
  return Notification.permission === "denied" ? "Notifications are blocked in this browser's settings" : "";
}

function show() {
  if (!button() || !("Notification" in window)) return;
  button().removeAttribute("data-unasked");
  button().setAttribute("aria-pressed", `${notifies()}`);
  button().setAttribute("aria-disabled", `${Boolean(barred())}`);
  button().textContent = barred() || (notifies() ? "Notifications are on" : "Notify me in this browser");
}

async function turn() {
  if (barred()) return;
  const wanted = !notifies();
  if (!wanted || (await Notification.requestPermission()) === "granted") localStorage[KEY] = wanted ? "1" : "0";
  if (notifies()) notify("Notifications are on", { body: "Whystop tells you here what needs a person.", tag: KEY });
  show();
}

document.addEventListener("click", ({ target }) => target.closest("#inbox-notify") && turn());
document.addEventListener("htmx:historyRestore", show);
/* What was not done belongs to the decision before this one. */
document.addEventListener("htmx:beforeRequest", () => document.getElementById("inbox-told")?.replaceChildren());
show();
