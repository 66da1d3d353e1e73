/* The tokens that a conversation has used count what streams just now, about as many as the count beside it: the server
   knows the tokens of a call once that has ended. */
const digits = (count) => count.toLocaleString("en-US");

/* The turn and the heading come by two sockets: of the two sums the larger is the newer. */
function sumOf({ newest, used, others }) {
  const { turn, tokens, known, out } = document.getElementById("tokens-out")?.dataset ?? {};
  return newest && newest === turn ? Math.max(used, Number(others) + Number(tokens) + Number(out) - known) : Number(used);
}

function draw() {
  const heading = document.getElementById("heading");
  if (!heading?.dataset.used) return;
  const sum = sumOf(heading.dataset);
  const about = sum > heading.dataset.used ? "≈ " : "";
  const bar = heading.querySelector("progress");
  for (const place of heading.querySelectorAll("[data-count]")) {
    const count = place.dataset.count === "left" ? Math.max(0, bar.max - sum) : sum;
    place.textContent = about + digits(count);
  }
  if (bar) bar.value = Math.min(sum, bar.max);
}

document.addEventListener("htmx:wsAfterMessage", draw);
draw();
