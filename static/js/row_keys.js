/* Row by row with the keyboard: j and k go from one to the next; on a row, a letter presses what
   names it in data-key. Nothing of it is needed: each button can be reached by Tab. */

const ROWS = "[data-row]";
const all = () => [...document.querySelectorAll(ROWS)];
const current = () => document.activeElement?.closest(ROWS);
/** A row's name, which stays when lines above it come or go. */
const nameOf = (row) => (row.querySelector("[name=line]")?.value ?? row.id).replace(/^\d+:/, "");
// The rows as they were when something was pressed, and on which; the page goes on there.
let place = { names: [], at: 0 };

function go(step) {
  const rows = all();
  if (!rows.length) return;
  const at = rows.indexOf(current());
  const next = at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1);
  rows[next].focus();
  rows[next].scrollIntoView({ block: "nearest" });
}

// Before the shortcuts of every page, which leave alone what was handled here.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    // Enter on a tick would press a button of its form.
    if (event.key === "Enter" && event.target.matches("input[type=checkbox]") && current()) event.preventDefault();
    if (event.target.closest("input:not([type=checkbox]), textarea, select")) {
      if (event.key === "Escape") current()?.focus();
      return;
    }
    if (document.getElementById("single-keys")?.checked === false) return;
    // Single letters mean something on a row, or where nothing has the focus; nowhere else.
    const row = current();
    if (!row && document.activeElement !== document.body) return;
    if (event.key === "j" || event.key === "k") {
      go(event.key === "j" ? 1 : -1);
      event.preventDefault();
      return;
    }
    const button = row && /^[a-z]$/.test(event.key) && row.querySelector(`[data-key="${event.key}"]`);
    if (!button) return;
    event.preventDefault();
    button.click();
    row.querySelector("details[open] textarea")?.focus();
  },
  true,
);

// A form that was opened under its row is closed there, without leaving the page.
document.addEventListener("click", (event) => {
  const slot = event.target.closest("[data-cancel]")?.closest(".slot");
  if (!slot) return;
  event.preventDefault();
  slot.closest(ROWS)?.focus();
  slot.replaceChildren();
});

// A button that names how many are ticked.
document.addEventListener("change", (event) => {
  const button = event.target.form?.querySelector("[data-count]");
  if (!button) return;
  const count = event.target.form.querySelectorAll("input[type=checkbox]:checked").length;
  button.textContent = `${button.dataset.count} ${count} line${count === 1 ? "" : "s"}`;
  button.disabled = count === 0;
});

// htmx sees which button was pressed only inside its form; those of the rows are outside.
let pressed = null;
document.addEventListener("submit", (event) => (pressed = event.submitter), true);
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt.id === "line-act" && pressed?.name) event.detail.parameters[pressed.name] = pressed.value;
});

document.addEventListener("htmx:beforeRequest", (event) => {
  const rows = all();
  const at = rows.indexOf(current());
  if (at >= 0) place = { names: rows.map(nameOf), at };
  const open = event.detail.target.closest(".slot")?.querySelector(".line-form");
  if (!open || !isUnsaved(open) || open === event.detail.elt) return;
  // Another form would take its place.
  event.preventDefault();
  open.querySelector("textarea").focus();
  document.dispatchEvent(new CustomEvent("jenny:notice", { detail: "Save what you typed in this line, or cancel it, first." }));
});

/* --- Ticks and open forms stay when the lines are exchanged --------------------------------- */

const isUnsaved = (form) => [...form.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue || form.querySelector(".errors"));
let kept = [];
let focused = null;
let scrolled = 0;

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id !== "lines" || !detail.shouldSwap) return;
  const { elt } = detail.requestConfig;
  focused = document.activeElement;
  scrolled = scrollY;
  kept = all().map((row) => {
    const form = row.querySelector(".slot > .line-form");
    const isSent = form === elt;
    // Taken out before, so that htmx leaves it as it is.
    if (form && !isSent) form.remove();
    return { name: nameOf(row), form: isSent ? null : form, isTicked: !elt.closest("#acts") && row.querySelector(".tick input")?.checked };
  });
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  // The browser holds on to what stands below the lines while both the old and the new are there.
  if (detail.target?.id === "lines") scrollTo({ top: scrolled, behavior: "instant" });
  const rows = new Map(all().map((row) => [nameOf(row), row]));
  for (const { name, form, isTicked } of kept) {
    const row = rows.get(name);
    if (isTicked && row) row.querySelector(".tick input").checked = true;
    if (form) row?.querySelector(".slot").replaceChildren(form);
    if (form?.contains(focused)) focused.focus();
  }
  kept = [];
});

document.addEventListener("htmx:afterSettle", (event) => {
  const target = event.detail.target?.id || event.target.id;
  if (target !== "hunks" && target !== "lines") return;
  if (document.activeElement && document.activeElement !== document.body) return;
  const rows = all();
  const names = rows.map(nameOf);
  // The row itself, also reworded; else the next that is left; of equal ones the nearest.
  const order = [...place.names.slice(place.at), ...place.names.slice(0, place.at).reverse()];
  const found = order.find((name) => names.includes(name));
  const nearest = names.map((name, at) => [name === found ? Math.abs(at - place.at) : Infinity, at]).sort((a, b) => a[0] - b[0])[0];
  const isReworded = rows[place.at] && !place.names.includes(names[place.at]);
  const next = rows[isReworded ? place.at : (nearest?.[1] ?? 0)] ?? document.getElementById("nothing-waits");
  // A focus alone would put the row into the middle, below the pointer another button than before.
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
});
