// Title, icon and notifications: what goes on, for somebody who looks elsewhere.

import { T } from "./strings.js";

const KEY = "robota-notify";
const ICONS = { waiting_for_input: "waiting", running: "busy", streaming: "busy" };
const told = new Set();

export const notifies = () => localStorage.getItem(KEY) === "yes" && globalThis.Notification?.permission === "granted";
export const setNotifies = (wanted) => localStorage.setItem(KEY, wanted ? "yes" : "no");

export async function askForNotifications() {
  if (!globalThis.Notification) return false;
  return Notification.permission === "granted" || (await Notification.requestPermission()) === "granted";
}

export function showState(state, title, isLost) {
  document.title = `${T.titles[state] ?? ""}${title ? `${title} – ` : ""}${T.product}`;
  const href = `/site/icons/${isLost ? "lost" : ICONS[state] ?? "idle"}.svg`;
  const icon = document.getElementById("icon");
  if (!icon.href.endsWith(href)) icon.href = href;
}

// One notification for each ask, by its `ts`: another tab that tells the same replaces it.
export function notify(asks, open) {
  for (const { session, row } of asks) {
    const tag = `${session.id}:${row.ts}`;
    if (told.has(tag)) continue;
    told.add(tag);
    if (document.visibilityState === "visible" || !notifies()) continue;
    const notification = new Notification(session.name || session.title || T.product, { body: row.asked?.title ?? row.asked?.question ?? T.states.waiting_for_input, tag });
    notification.onclick = () => {
      window.focus();
      open(session.id);
      notification.close();
    };
  }
}
