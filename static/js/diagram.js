/* Draws the diagram of its frame, and tells the page how high it is. What cannot be drawn is
   shown as it was written. */

const source = document.getElementById("source");
const drawing = document.getElementById("drawing");

function tell() {
  const height = Math.min(2000, Math.max(48, Math.ceil(document.documentElement.getBoundingClientRect().height)));
  parent.postMessage({ kind: "jenny-diagram", height }, "*");
}

async function draw() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: dark ? "dark" : "neutral", maxTextSize: 50000, fontFamily: "system-ui, sans-serif" });
  const { svg } = await mermaid.render("diagram", source.textContent);
  const image = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  drawing.replaceChildren(image);
  source.hidden = true;
}

draw()
  .catch((error) => {
    document.getElementById("ddiagram")?.remove();
    const line = document.createElement("p");
    line.className = "problem";
    line.textContent = `This diagram cannot be drawn: ${String(error.message ?? error).split("\n")[0]}`;
    drawing.replaceChildren(line);
  })
  .finally(() => {
    tell();
    addEventListener("resize", tell);
  });
