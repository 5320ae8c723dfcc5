/* Hunk by hunk with the keyboard: j and k go from one to the next; on a hunk, a letter presses
   the button that names it. Nothing of it is needed: each button can be reached by Tab. */

const all = () => [...document.querySelectorAll("[data-hunk]")];
const current = () => document.activeElement?.closest("[data-hunk]");
// Where the verdict was given; the page goes on there.
let place = 0;

function go(step) {
  const hunks = all();
  if (!hunks.length) return;
  const at = hunks.indexOf(current());
  const next = at < 0 ? 0 : Math.min(Math.max(at + step, 0), hunks.length - 1);
  hunks[next].focus();
  hunks[next].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") current()?.focus();
    return;
  }
  // Single letters mean something on a hunk, or where nothing has the focus; nowhere else.
  const hunk = current();
  if (!hunk && document.activeElement !== document.body) return;
  if (event.key === "j" || event.key === "k") {
    go(event.key === "j" ? 1 : -1);
    event.preventDefault();
    return;
  }
  const pressed = hunk && /^[aern]$/.test(event.key) && hunk.querySelector(`[data-key="${event.key}"]`);
  if (!pressed) return;
  event.preventDefault();
  pressed.click();
  if (event.key === "e") hunk.querySelector("details[open] textarea")?.focus();
});

document.addEventListener("htmx:beforeRequest", (event) => {
  const hunk = event.target.closest?.("[data-hunk]");
  if (hunk) place = all().indexOf(hunk);
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id !== "hunks" && event.target.id !== "hunks") return;
  if (document.activeElement && document.activeElement !== document.body) return;
  const hunks = all();
  (hunks[Math.min(place, hunks.length - 1)] ?? document.getElementById("nothing-waits"))?.focus();
});
