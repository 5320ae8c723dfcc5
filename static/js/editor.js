/* The editor: Ctrl+S saves, leaving with unsaved text asks, Tab leaves the field as everywhere. */

const form = document.querySelector("[data-editor]");
const text = form?.querySelector("textarea");
const state = document.getElementById("editor-state");

if (form && text) {
  const before = text.value;
  let isSaving = false;
  const isDirty = () => !isSaving && ("dirty" in form.dataset || text.value !== before);

  text.addEventListener("input", () => {
    state.textContent = text.value === before ? "" : "Not saved yet.";
  });

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s") {
      event.preventDefault();
      form.requestSubmit();
    }
  });

  form.addEventListener("submit", () => {
    isSaving = true;
  });

  addEventListener("pageshow", () => {
    isSaving = false;
  });

  addEventListener("beforeunload", (event) => {
    if (isDirty()) event.preventDefault();
  });

  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "preview") document.getElementById("preview")?.scrollIntoView({ block: "nearest" });
  });
}
