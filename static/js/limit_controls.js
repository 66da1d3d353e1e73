/* A number and its slider say the same; the slider's own input event then asks for the what-if. */
const said = (slider) => slider.setAttribute("aria-valuetext", `${slider.value} ${slider.dataset.unit}`);

document.addEventListener("input", (event) => {
  const { dial } = event.target.dataset;
  if (dial) {
    document.getElementById(dial).value = event.target.value;
    said(event.target);
    return;
  }
  const slider = document.querySelector(`[data-dial="${CSS.escape(event.target.id)}"]`);
  if (!slider) return;
  slider.value = event.target.value === "" ? slider.defaultValue : event.target.value;
  said(slider);
}, true);

const differs = ({ options, value, defaultValue, checked, defaultChecked }) =>
  options ? [...options].some((option) => option.selected !== option.defaultSelected)
    : value !== defaultValue || checked !== defaultChecked;

/* What was typed while the page was still loading, or was brought back by the browser, is asked for as well. */
window.addEventListener("pageshow", () => {
  const named = [...document.getElementById("dials").elements].filter(({ name }) => name);
  named.find(differs)?.dispatchEvent(new Event("input", { bubbles: true }));
});
