/* The form of a policy: says when its fields are no longer those that were tried, and keeps it open beside the turns. */
const ABOUT = new Set(["why", "counts", "starts_at_0", "starts_at_1", "starts_at", "name"]);

const tried = () => document.querySelector('#backtest-panel input[name="backtest"]');

for (const kind of ["input", "change"]) {
  document.addEventListener(kind, ({ target }) => {
    if (!tried() || !target.form || ABOUT.has(target.name) || target.closest("#backtest-panel")) return;
    document.getElementById("backtest-stale").hidden = false;
  });
}

document.addEventListener("click", ({ target }) => {
  const link = target.closest("#backtest-panel a");
  if (link) link.target = "_blank";
});

/* While the panel's request is on its way, a form that is sent would be without its backtest: it waits for the answer. */
document.addEventListener("submit", (event) => {
  if (!document.querySelector("#run-backtest.htmx-request")) return;
  event.preventDefault();
  const send = () => event.target.requestSubmit(event.submitter);
  document.addEventListener("htmx:afterRequest", send, { once: true });
});
