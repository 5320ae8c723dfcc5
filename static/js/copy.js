/* Copying a message, with its formatting where the target takes it, or a piece of code. */

const SHOWN_MS = 1600;
const announce = document.getElementById("announce");

/** Put both forms on the clipboard. By the copy event: it also works over plain http, and what
    it is given is not parsed in this page, where the security policy would object. */
async function write(plain, html) {
  let taken = false;
  const fill = (event) => {
    event.preventDefault();
    event.clipboardData.setData("text/plain", plain);
    if (html) event.clipboardData.setData("text/html", html);
    taken = true;
  };
  document.addEventListener("copy", fill, { once: true });
  document.execCommand("copy");
  document.removeEventListener("copy", fill);
  if (!taken) await navigator.clipboard.writeText(plain);
}

function contents(button) {
  const code = button.closest(".code")?.querySelector("pre");
  if (code) return [code.textContent, ""];
  const item = document.getElementById(button.dataset.copy);
  const words = item.querySelector(".words");
  if (words) return [words.textContent, ""];
  const texts = [...item.querySelectorAll(".blocks > .prose, :scope > .prose")];
  // What stands above a piece of code is the page's, not Jenny's.
  const heads = [...item.querySelectorAll(".code-head")];
  for (const head of heads) head.hidden = true;
  const plain = texts.map((text) => text.innerText).join("\n\n");
  for (const head of heads) head.hidden = false;
  const formatted = texts.map((text) => {
    const copy = text.cloneNode(true);
    for (const head of copy.querySelectorAll(".code-head")) head.remove();
    return copy.innerHTML;
  });
  return [plain, formatted.join("\n")];
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const label = button.querySelector("span") ?? button;
  const [plain, html] = contents(button);
  let outcome = "Copied";
  try {
    await write(plain, html);
  } catch {
    outcome = "Not copied";
  }
  label.textContent = outcome;
  announce.textContent = outcome;
  setTimeout(() => { label.textContent = "Copy"; }, SHOWN_MS);
});
