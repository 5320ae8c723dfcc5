/* Copying a message, with its formatting where the target takes it, or a piece of code. */

import { post } from "./upload_parts.js";

const SHOWN_MS = 1600;
const announce = document.getElementById("announce");

/** Put both forms on the clipboard. By the copy event: it also works over plain http, and what
    it is given is not parsed in this page, where the security policy would object. */
async function write(plain, html) {
  let taken = false;
  const fill = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData.setData("text/plain", plain);
    if (html) event.clipboardData.setData("text/html", html);
    taken = true;
  };
  document.addEventListener("copy", fill, { once: true, capture: true });
  document.execCommand("copy");
  document.removeEventListener("copy", fill, { capture: true });
  if (!taken) await navigator.clipboard.writeText(plain);
}

/** Code as it was written: hidden direction marks are shown by their numbers, and the last line
    end is the page's. */
function codeOf(pre) {
  const copy = pre.cloneNode(true);
  for (const mark of copy.querySelectorAll(".direction-mark")) {
    mark.replaceWith(String.fromCodePoint(Number.parseInt(mark.textContent.slice(2), 16)));
  }
  return copy.textContent.replace(/\n$/, "");
}

const MARKS = { STRONG: "**", B: "**", EM: "*", I: "*", S: "~~", DEL: "~~" };

/** What was selected, as Markdown: numbers, bullets, fences, marks and addresses stay. */
function markdown(node, indent = "") {
  if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/\s+/g, " ");
  if (node.nodeType === Node.ELEMENT_NODE && node.matches(".code-head, .code > :not(pre), .sr-only, .footnote-back")) return "";
  const inner = (more = "") => [...node.childNodes].map((child) => markdown(child, indent + more)).join("");
  const tag = node.nodeName;
  if (tag === "PRE") return `\n\n\`\`\`\n${codeOf(node)}\n\`\`\`\n\n`.replaceAll("\n", `\n${indent}`);
  if (tag === "CODE") return `\`${node.textContent}\``;
  if (tag === "BR") return `\n${indent}`;
  if (tag === "A" && /^https?:|^mailto:/.test(node.getAttribute("href") ?? "")) {
    const words = inner();
    return words === node.getAttribute("href") ? words : `[${words}](${node.getAttribute("href")})`;
  }
  if (tag in MARKS) return `${MARKS[tag]}${inner()}${MARKS[tag]}`;
  if (tag === "LI") {
    const list = node.parentNode;
    const items = [...list.children];
    const number = (list.start ?? 1) + items.indexOf(node);
    const bullet = list.nodeName === "OL" ? `${number}. ` : "- ";
    return `\n${indent}${bullet}${inner(" ".repeat(bullet.length)).trim()}`;
  }
  if (/^H[1-6]$/.test(tag)) return `\n\n${"#".repeat(tag[1] - 2)} ${inner().trim()}\n\n`;
  if (tag === "UL" || tag === "OL") return `${inner()}\n\n`;
  if (tag === "BLOCKQUOTE") return `\n\n> ${inner().trim().replaceAll("\n", "\n> ")}\n\n`;
  if (tag === "TR") return `\n${[...node.children].map((cell) => markdown(cell).trim()).join(" | ")}`;
  if (/^(P|DIV|TABLE|SECTION)$/.test(tag)) return `\n\n${indent}${inner().trim()}\n\n`;
  return inner();
}

// A selection inside of a message keeps what is drawn rather than written.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (event.defaultPrevented || !selection.rangeCount || selection.isCollapsed) return;
  const range = selection.getRangeAt(0);
  const around = range.commonAncestorContainer;
  const element = around.nodeType === Node.ELEMENT_NODE ? around : around.parentElement;
  if (!element.closest(".prose") || element.closest("pre")) return;
  let part = range.cloneContents();
  const list = element.closest("ul, ol");
  if (element === list) {
    // A part of a list: its items keep their bullets, and the numbers that they have.
    const whole = list.cloneNode(false);
    const first = [...list.children].findIndex((item) => range.intersectsNode(item));
    if (list.nodeName === "OL") whole.start = list.start + Math.max(0, first);
    whole.append(part);
    part = whole;
  }
  if (!part.querySelector("li, pre, a, strong, em, h3, h4, h5, h6, code, blockquote, tr")) return;
  const holder = document.createElement("div");
  holder.append(part.cloneNode(true));
  const text = markdown(part).replace(/\n[ \n]*\n/g, (gap) => `\n\n${gap.slice(gap.lastIndexOf("\n") + 1)}`).trim();
  event.clipboardData.setData("text/plain", text);
  event.clipboardData.setData("text/html", holder.innerHTML);
  event.preventDefault();
});

function contents(button) {
  const code = button.closest(".code")?.querySelector("pre");
  if (code) return [codeOf(code), ""];
  const item = document.getElementById(button.dataset.copy);
  const words = item.querySelector(".words");
  if (words) return [words.textContent, ""];
  const texts = [...item.querySelectorAll(".blocks > .prose, :scope > .prose")];
  const plain = texts.map((text) => (text.dataset.source ?? text.innerText).trim()).join("\n\n");
  const formatted = texts.map((text) => {
    const copy = text.cloneNode(true);
    // What stands above a piece of code is the page's, not Jenny's.
    for (const head of copy.querySelectorAll(".code > :not(pre)")) head.remove();
    return copy.innerHTML;
  });
  return [plain, formatted.join("\n")];
}

/* --- A piece of code: its lines wrapped, or saved as a file of the workspace ------------- */

async function save(button, code) {
  if (button.getAttribute("aria-busy")) return;
  button.setAttribute("aria-busy", "true");
  const body = new FormData();
  body.set("text", `${codeOf(code.querySelector("pre"))}\n`);
  body.set("language", button.dataset.save);
  body.set("project", document.body.dataset.project ?? "");
  const answer = await post("/files/save-code", body).catch(() => ({ stop: "Not saved: the server cannot be reached. Try again." }));
  button.removeAttribute("aria-busy");
  const said = document.createElement("p");
  said.className = "code-saved";
  if (answer.stop) said.textContent = answer.stop;
  else {
    const link = document.createElement("a");
    link.href = answer.href;
    link.textContent = answer.path;
    said.append("Saved as ", link);
  }
  code.querySelector(".code-saved")?.remove();
  code.append(said);
  announce.textContent = said.textContent;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".code [data-wrap], .code [data-save]");
  if (!button) return;
  const code = button.closest(".code");
  if ("wrap" in button.dataset) {
    button.setAttribute("aria-pressed", String(code.toggleAttribute("data-wrapped")));
    return;
  }
  save(button, code);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button || button.matches("[data-copied]")) return;
  const label = button.querySelector("span") ?? button;
  const before = label.textContent;
  const [plain, formatted] = contents(button);
  const html = "plain" in button.dataset ? "" : formatted;
  let outcome = "Copied";
  try {
    await write(plain, html);
  } catch {
    outcome = "Not copied";
  }
  label.textContent = outcome;
  button.dataset.copied = "";
  announce.textContent = outcome;
  setTimeout(() => { label.textContent = before; delete button.dataset.copied; }, SHOWN_MS);
});
