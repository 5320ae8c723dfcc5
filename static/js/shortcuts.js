/* Keyboard shortcuts, as the sheet lists them. Single keys can be switched off in it, since speech
   input types them by mistake. */

const STORED = "jenny.single-keys";
const sheet = document.getElementById("shortcuts");
const choice = document.getElementById("single-keys");

/** Follow the link of the conversation *step* rows away from the shown one. */
function goToConversation(step) {
  const links = [...document.querySelectorAll("#conversations a")].filter((link) => /^\/chat\/[0-9a-f-]{36}\/$/.test(link.getAttribute("href")));
  const at = links.findIndex((link) => link.matches("[aria-current]"));
  links[at < 0 ? 0 : at + step]?.click();
}

// What no link can do. A key that finds nothing to do here does nothing.
const ACTIONS = {
  j: () => goToConversation(1),
  k: () => goToConversation(-1),
  y: () => [...document.querySelectorAll(".item.answer")].at(-1)?.querySelector("footer [data-copy]")?.click(),
  ".": () => document.querySelector("#stop:not([hidden])")?.click(),
};

try {
  choice.checked = localStorage.getItem(STORED) !== "off";
} catch {
  // A forbidden store: they are on.
}

choice.addEventListener("change", () => {
  try {
    localStorage.setItem(STORED, choice.checked ? "on" : "off");
  } catch {
    // It holds until the page changes.
  }
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const isTyping = event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  if (event.key === "/" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    sheet.togglePopover();
  } else if (event.ctrlKey || event.metaKey) {
    return;
  } else if (event.key === "Escape" && isTyping) {
    event.target.blur();
  } else if (isTyping || !choice.checked) {
    return;
  } else if (event.key === "?") {
    sheet.togglePopover();
  } else if (event.key in ACTIONS) {
    ACTIONS[event.key]();
  } else if (event.key === "/" || event.key === "c") {
    // The field of the page itself comes first; "/" must not be typed into it.
    event.preventDefault();
    const own = document.querySelector(event.key === "/" ? "main [type=search]" : "textarea#text");
    if (own) own.focus();
    else sheet.querySelector(`[data-key="${event.key}"]`).click();
  } else {
    sheet.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
  }
});
