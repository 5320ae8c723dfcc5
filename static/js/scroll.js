/* The reader's place: kept at the end only for who is at the end, found again after older
   messages were put above, and one press away from the latest. */

const NEAR = 64;
const page = document.scrollingElement;
const jump = document.getElementById("jump");
const scroller = document.getElementById("scroller");
const dock = document.getElementById("dock");

const distance = () => page.scrollHeight - innerHeight - page.scrollTop;
const toEnd = () => { page.scrollTop = page.scrollHeight; };
// Nothing was said yet: what stands at the top is what matters.
const isEmpty = () => !document.getElementById("thread")?.childElementCount;

let follows = true;
let last = 0;

function look() {
  const far = distance();
  if (far < NEAR) follows = true;
  else if (page.scrollTop < last - 1) follows = false;
  last = page.scrollTop;
  jump.hidden = follows || far < NEAR || isEmpty();
}

addEventListener("scroll", look, { passive: true });
// The field that has the focus from the beginning is at the end of the page, and in sight anyway.
if (isEmpty()) addEventListener("load", () => requestAnimationFrame(() => { page.scrollTop = 0; }));

// Runs between layout and paint: what grew and where one looks move in one frame.
const grown = new ResizeObserver(() => {
  if (follows && !isEmpty()) toEnd();
  look();
});
grown.observe(scroller);
grown.observe(dock);

jump.addEventListener("click", () => {
  follows = true;
  toEnd();
  document.getElementById("text").focus();
});
document.addEventListener("jenny:sent", () => {
  follows = true;
  toEnd();
});

/* --- Older messages -------------------------------------------------------------------- */

let busy = false;

async function older(link, byHand) {
  if (busy) return;
  busy = true;
  try {
    const answer = await fetch(link.dataset.older, { headers: { "HX-Request": "true", "HX-Current-URL": location.href } });
    const login = answer.headers.get("HX-Redirect");
    if (login) return location.assign(login);
    if (!answer.ok) throw new Error(String(answer.status));
    place(link.closest("#older"), await answer.text(), byHand);
  } catch {
    link.textContent = "Earlier messages could not be loaded. Try again";
  } finally {
    busy = false;
  }
  watch();
}

function place(mark, html, byHand) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const fresh = [...template.content.children];
  const anchor = mark.nextElementSibling;
  const before = anchor?.getBoundingClientRect().top ?? 0;
  mark.replaceWith(...fresh);
  for (const node of fresh) window.htmx?.process(node);
  dropDoubleDay(anchor);
  const after = anchor?.getBoundingClientRect().top ?? 0;
  // Browsers that keep the place by themselves leave nothing to do here.
  page.scrollTop += after - before;
  if (byHand) {
    const target = fresh.findLast((node) => node.matches(".item"));
    target?.setAttribute("tabindex", "-1");
    target?.focus({ preventScroll: true });
  }
}

/** A window begins with its day; the message above it may be of the same one. */
function dropDoubleDay(item) {
  const day = item?.querySelector(":scope > .day");
  for (let node = item?.previousElementSibling; node && day; node = node.previousElementSibling) {
    const other = node.querySelector(":scope > .day");
    if (!other) continue;
    if (other.textContent === day.textContent) day.remove();
    return;
  }
}

const near = new IntersectionObserver((seen) => {
  if (seen.some((entry) => entry.isIntersecting)) {
    const link = document.querySelector("#older a");
    if (link) older(link, false);
  }
}, { rootMargin: "600px 0px" });

function watch() {
  near.disconnect();
  const mark = document.getElementById("older");
  if (mark) near.observe(mark);
}

scroller.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-older]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  older(link, true);
});

// A reader who came to a place in the address (#m12) is not taken to the end.
follows = !location.hash;
if (follows) toEnd();
requestAnimationFrame(watch);
