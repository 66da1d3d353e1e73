/* A number and its slider say the same; the slider's own input event then asks for the what-if. */
document.addEventListener("input", (event) => {
  const { dial } = event.target.dataset;
  if (dial) document.getElementById(dial).value = event.target.value;
  else {
    const slider = document.querySelector(`[data-dial="${event.target.id}"]`);
    if (slider && event.target.value !== "") slider.value = event.target.value;
  }
}, true);
