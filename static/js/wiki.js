/* A wiki's page: passages that are commented on are marked, and selected words can be commented on. */

const text = document.getElementById("text");
const button = document.getElementById("comment-here");

/** The text of *root* with single spaces, and for each of its characters where it stands. */
function squeezed(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let words = "";
  const places = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.data.length; at += 1) {
      const isSpace = /\s/.test(node.data[at]);
      if (isSpace && (words === "" || words.endsWith(" "))) continue;
      words += isSpace ? " " : node.data[at];
      places.push([node, at]);
    }
    if (words && !words.endsWith(" ") && !/^(A|B|CODE|DEL|EM|I|INS|KBD|MARK|Q|S|SMALL|SPAN|STRONG|SUB|SUP|U)$/.test(node.parentElement.tagName)) {
      words += " ";
      places.push([node, node.data.length]);
    }
  }
  return { words, places };
}

function mark() {
  const comments = document.querySelectorAll("[data-anchor]");
  if (!text || !comments.length || !globalThis.CSS?.highlights) return;
  const { words, places } = squeezed(text);
  const ranges = [];
  for (const { dataset } of comments) {
    if (!dataset.anchor) continue;
    const whole = words.indexOf(`${dataset.before}${dataset.anchor}`);
    const at = whole >= 0 ? whole + dataset.before.length : words.indexOf(dataset.anchor);
    if (at < 0) continue;
    const range = new Range();
    const [last, end] = places[Math.min(places.length, at + dataset.anchor.length) - 1];
    range.setStart(...places[at]);
    range.setEnd(last, Math.min(last.data.length, end + 1));
    ranges.push(range);
  }
  CSS.highlights.set("commented", new Highlight(...ranges));
}

function offer() {
  const selection = getSelection();
  const range = selection.rangeCount ? selection.getRangeAt(0).cloneRange() : null;
  const begins = range && text.contains(range.startContainer);
  // A triple click on the last line ends at what comes after the text.
  const isLonger = begins && !text.contains(range.endContainer);
  if (isLonger) range.setEnd(text, text.childNodes.length);
  const words = isLonger ? String(range).trim() : String(selection).trim();
  const isHere = begins && words;
  button.hidden = !isHere;
  if (!isHere) return;
  const box = range.getBoundingClientRect();
  const around = button.offsetParent.getBoundingClientRect();
  button.style.top = `${box.bottom - around.top + 8}px`;
  button.style.left = `${Math.max(0, Math.min(box.left - around.left, around.width - button.offsetWidth))}px`;
  const lead = new Range();
  lead.setStart(text, 0);
  lead.setEnd(range.startContainer, range.startOffset);
  const before = String(lead).replace(/\s+/g, " ").slice(-80);
  const hash = new URLSearchParams({ passage: words.slice(0, 2000), before });
  button.href = `${button.href.split("#")[0]}#${hash}`;
}

if (text && button) {
  document.addEventListener("selectionchange", offer);
  mark();
}
