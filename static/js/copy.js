/* Copying a message, with its formatting where the target takes it, or a piece of code. */

const SHOWN_MS = 1600;
const announce = document.getElementById("announce");

async function write(plain, html) {
  if (navigator.clipboard?.write && html) {
    const item = new ClipboardItem({
      "text/plain": new Blob([plain], { type: "text/plain" }),
      "text/html": new Blob([html], { type: "text/html" }),
    });
    return navigator.clipboard.write([item]);
  }
  if (navigator.clipboard) return navigator.clipboard.writeText(plain);
  // Plain http on another host than this one has no clipboard; a selection does it there.
  const area = document.createElement("textarea");
  area.value = plain;
  area.className = "sr-only";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("refused");
}

function contents(button) {
  const code = button.closest(".code")?.querySelector("pre");
  if (code) return [code.textContent, ""];
  const item = document.getElementById(button.dataset.copy);
  const words = item.querySelector(".words");
  if (words) return [words.textContent, ""];
  const texts = [...item.querySelectorAll(".blocks > .prose, :scope > .prose")];
  return [texts.map((text) => text.innerText).join("\n\n"), texts.map((text) => text.innerHTML).join("\n")];
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
