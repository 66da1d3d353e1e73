/* Sockets of pages. One that is left while it still connects closes once it is open: browsers call anything earlier an
   error. One that is opened again says so: what its page shows is not what its address says any more. Whoever is not
   signed in any more is asked to. */
const dialled = new Set();

htmx.createWebSocket = (asked) => {
  const url = new URL(asked, location.href.replace(/^http/, "ws"));
  if (dialled.has(asked)) url.searchParams.set("again", "1");
  dialled.add(asked);
  const socket = new WebSocket(url, []);
  const listen = socket.addEventListener.bind(socket);
  socket.addEventListener = (kind, heard, ...more) =>
    listen(kind, kind === "message" ? (event) => afterPress(() => heard(event)) : heard, ...more);
  const close = socket.close.bind(socket);
  socket.close = (...why) => {
    if (socket.readyState === WebSocket.CONNECTING) socket.addEventListener("open", () => close(...why), { once: true });
    else close(...why);
  };
  let opened = false;
  socket.addEventListener("open", () => (opened = true));
  socket.addEventListener("close", ({ code }) => {
    if (code === SHOWN_OUT) location.reload();
    else if (!opened) askToSignIn();
  });
  return socket;
};

const SHOWN_OUT = 4401;

/* Each socket is tried again by itself. htmx would wait up to a minute, for which one part of a page stays old beside
   another that is up to date. */
const LONGEST_WAIT = 10_000; // ms
htmx.config.wsReconnectDelay = (tries) => Math.random() * Math.min(1000 * 2 ** tries, LONGEST_WAIT);

/* A control that is replaced between press and release gets no click. While one is pressed, messages of sockets wait in
   their order, and a part that asks for itself again and again stays as it is until it asks the next time. */
const PRESSED = ":is(a, button, summary, label, input):active";
const LONGEST = 10_000; // ms that a press may hold anything up
const LOOK = 20; // ms
const waiting = [];
let pressedAt = 0;

for (const kind of ["pointerdown", "keydown"])
  addEventListener(kind, () => (pressedAt = Date.now()), { capture: true, passive: true });

const isPressed = (part) => Date.now() - pressedAt < LONGEST && Boolean(part.querySelector(PRESSED));

function afterPress(act) {
  if (!waiting.length && !isPressed(document)) act();
  else if (waiting.push(act) === 1) whenReleased();
}

function whenReleased() {
  if (isPressed(document)) setTimeout(whenReleased, LOOK);
  else waiting.splice(0).forEach((act) => queueMicrotask(act));
}

document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
  const asksItself = target === detail.requestConfig.elt && target.matches('[hx-trigger^="every"]');
  if (asksItself && isPressed(target)) detail.shouldSwap = false;
});

/* A browser is not told why a handshake failed; a page that leads elsewhere now is one for who is signed in. */
async function askToSignIn() {
  const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" }).catch(() => undefined);
  if (answer?.type === "opaqueredirect") location.reload();
}

/* The text that streams belongs to an answer that the page may have replaced meanwhile, by one that says as much. */
document.addEventListener("htmx:wsBeforeMessage", (event) => {
  if (event.detail.message.startsWith('<span id="draft"') && !document.getElementById("draft")) event.preventDefault();
});

/* A machine that slept, or changed its network, may hold sockets that are dead without knowing: they are opened anew. */
const open = new Map();
const TICK = 15_000;
const ASLEEP = 90_000; // browsers let the timers of hidden pages run once a minute
let ticked = Date.now();

document.addEventListener("htmx:wsOpen", ({ target, detail }) => open.set(target, detail.socketWrapper));
document.addEventListener("htmx:wsClose", ({ target, detail }) => detail.event.code === 1000 && open.delete(target));
addEventListener("online", openAnew);
setInterval(() => {
  if (Date.now() - ticked > ASLEEP) openAnew();
  ticked = Date.now();
}, TICK);

function openAnew() {
  for (const [element, socket] of open) {
    if (element.isConnected) socket.reconnect();
    else open.delete(element);
  }
}
