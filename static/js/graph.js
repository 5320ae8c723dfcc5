/* The graph: pan by dragging or arrow keys, zoom by wheel, two fingers or buttons, find and
   filter. What it shows was laid out on the server. */

const svg = document.querySelector("[data-graph]");
const tools = document.querySelector("[data-graph-tools]");
const state = document.getElementById("graph-state");
// Smaller names, in pixels, are not read.
const READABLE = 10;

if (svg && tools) {
  const whole = svg.viewBox.baseVal;
  const all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  const view = { ...all };
  let font = Number(svg.getAttribute("font-size"));
  const nodes = [...svg.querySelectorAll("a[data-folder]")].map((link) => ({
    link,
    words: link.querySelector("title").textContent.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase(),
    place: link.querySelector("circle"),
  }));
  const pointers = new Map();
  let moved = false;

  function show() {
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    // Names keep their size while what they name grows.
    svg.setAttribute("font-size", Math.max(2, (font * view.width) / all.width));
  }

  /** The scale of the picture: units for a pixel. */
  function unit() {
    return Math.max(view.width / svg.clientWidth, view.height / svg.clientHeight);
  }

  function zoom(factor, at) {
    const width = Math.min(all.width * 1.5, Math.max(60, view.width * factor));
    const real = width / view.width;
    const x = at?.x ?? view.x + view.width / 2;
    const y = at?.y ?? view.y + view.height / 2;
    view.x = x - (x - view.x) * real;
    view.y = y - (y - view.y) * real;
    view.width = width;
    view.height *= real;
    show();
  }

  function pan(dx, dy) {
    view.x += dx * unit();
    view.y += dy * unit();
    show();
  }

  function point(event) {
    const place = new DOMPoint(event.clientX, event.clientY);
    return place.matrixTransform(svg.getScreenCTM().inverse());
  }

  /** Where a small screen has no room for all of it, begin nearer, at the largest. */
  function begin() {
    const least = READABLE * unit();
    if (font >= least) return;
    const near = font / least;
    font = least;
    const kind = svg.querySelector("a.circle") ? "a.circle circle" : "circle";
    const size = (circle) => circle.r.baseVal.value;
    const largest = [...svg.querySelectorAll(kind)].sort((one, other) => size(other) - size(one))[0];
    const { cx, cy } = svg.querySelector(".here circle") ?? largest;
    view.x += cx.baseVal.value - (view.x + view.width / 2);
    view.y += cy.baseVal.value - (view.y + view.height / 2);
    zoom(near);
  }

  svg.dataset.live = "";
  svg.setAttribute("tabindex", "0");

  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 300), point(event));
  }, { passive: false });

  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, event);
    moved = false;
  });

  svg.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const dx = event.clientX - last.clientX;
    const dy = event.clientY - last.clientY;
    if (pointers.size === 1) {
      if (!moved && Math.hypot(dx, dy) < 4) return;
      if (!moved) svg.setPointerCapture(event.pointerId);
      moved = true;
      svg.dataset.live = "held";
      pan(-dx, -dy);
    } else if (pointers.size === 2) {
      const other = [...pointers.values()].find((one) => one.pointerId !== event.pointerId);
      const before = Math.hypot(last.clientX - other.clientX, last.clientY - other.clientY);
      const now = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
      if (now > 0) zoom(before / now, point(event));
      moved = true;
    }
    pointers.set(event.pointerId, event);
  });

  for (const kind of ["pointerup", "pointercancel"]) {
    svg.addEventListener(kind, (event) => {
      pointers.delete(event.pointerId);
      svg.dataset.live = "";
    });
  }

  // A drag that ends on a page is no press on it.
  svg.addEventListener("click", (event) => {
    if (moved) event.preventDefault();
    moved = false;
  }, true);
  svg.addEventListener("dragstart", (event) => event.preventDefault());

  svg.addEventListener("keydown", (event) => {
    const step = 60;
    const acts = {
      ArrowLeft: () => pan(-step, 0), ArrowRight: () => pan(step, 0),
      ArrowUp: () => pan(0, -step), ArrowDown: () => pan(0, step),
      "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: whole_again,
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
  });

  function whole_again() {
    Object.assign(view, all);
    show();
  }

  tools.addEventListener("click", (event) => {
    const what = event.target.closest("[data-zoom]")?.dataset.zoom;
    if (what === "in") zoom(0.7);
    if (what === "out") zoom(1.4);
    if (what === "all") whole_again();
  });

  const find = document.getElementById("find");
  const only = document.getElementById("only");

  function sift() {
    const wanted = find.value.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().split(/\s+/).filter(Boolean);
    const group = only?.value ?? "";
    let found = 0;
    let first = null;
    for (const { link, words, place } of nodes) {
      const isIn = !group || (link.dataset.wiki ?? link.dataset.folder) === group;
      const isFound = isIn && wanted.length > 0 && wanted.every((word) => words.includes(word));
      link.classList.toggle("is-gone", !isIn);
      link.classList.toggle("is-faint", isIn && wanted.length > 0 && !isFound);
      link.classList.toggle("is-found", isFound);
      if (isFound) {
        found += 1;
        first ??= place;
      }
    }
    svg.querySelector(".lines").classList.toggle("is-faint", wanted.length > 0 || group !== "");
    state.textContent = wanted.length ? `${found} found` : "";
    return first;
  }

  find.addEventListener("input", sift);
  only?.addEventListener("change", sift);
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const place = sift();
    if (!place) return;
    const width = Math.min(all.width, 500);
    Object.assign(view, { width, height: width * (all.height / all.width) });
    view.x = place.cx.baseVal.value - view.width / 2;
    view.y = place.cy.baseVal.value - view.height / 2;
    show();
  });

  begin();
}
