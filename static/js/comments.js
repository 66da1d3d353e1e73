/* Comments of every transition are on the page; those of the step one is at are shown. “Comment on this transition” brings
   its number into the form and the cursor to the text. */
function show(number) {
  for (const group of document.querySelectorAll("[data-remarks-at]")) group.hidden = group.dataset.remarksAt !== `${number}`;
}

document.addEventListener("whystop:step", (event) => show(event.detail.number));
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-comment-at]");
  if (!link) return;
  event.preventDefault();
  document.getElementById("comment-at").value = link.dataset.commentAt;
  document.getElementById("comment-text").focus();
});
const here = document.querySelector("#step [data-comment-at]");
if (here) show(here.dataset.commentAt); // the stepper may have spoken before
