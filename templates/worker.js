{% load static %}/* Shows the offline page when Jenny cannot be reached. It keeps that page and its style, as
   they are for a stranger, and nothing of anybody's. */

const PAGE = "/offline/";
const FILES = [
  PAGE,
  "{% static 'css/tokens.css' %}",
  "{% static 'css/base.css' %}",
  "{% static 'css/frame.css' %}",
  "{% static 'css/forms.css' %}",
  "{% static 'css/components.css' %}",
];
const KEPT = `offline ${FILES.join(" ")}`;

async function keep() {
  const kept = await caches.open(KEPT);
  await kept.addAll(FILES.map((file) => new Request(file, { credentials: "omit" })));
  await self.skipWaiting();
}

async function forget() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name)));
  await self.clients.claim();
}

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(forget()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate") {
    event.respondWith(fetch(request).catch(() => caches.match(PAGE)));
  } else if (FILES.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});
