/* “Comment on this transition” brings its number into the form and the cursor to the text. */
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-comment-at]");
  if (!link) return;
  event.preventDefault();
  document.getElementById("comment-at").value = link.dataset.commentAt;
  document.getElementById("comment-text").focus();
});
