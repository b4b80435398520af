// Keeps JupyterLab's single-key shortcuts out of a panel: "dd" in a list would delete the cell.
function render({ el }) {
  const guard = ({ target, ctrlKey, metaKey, altKey }) => {
    if (!el.closest(".wb")?.contains(target)) return;
    target.toggleAttribute("data-lm-suppress-shortcuts", !ctrlKey && !metaKey && !altKey);
  };
  window.addEventListener("keydown", guard, { capture: true }); // JupyterLab's is on the document
  return () => window.removeEventListener("keydown", guard, { capture: true });
}

export default { render };
