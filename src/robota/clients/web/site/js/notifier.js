// The worker that shows notifications. It fetches nothing and stores nothing.

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(reach(event.notification.data));
});

async function reach(id) {
  const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!page) return self.clients.openWindow(`/s/${encodeURIComponent(id)}`);
  page.postMessage(id);
  return page.focus();
}
