// Title, icon and notifications: what goes on, for somebody who looks elsewhere.

import { notifierUrl } from "./ui.js";
import { T } from "./strings.js";

const KEY = "robota-notify";
const ICONS = { waiting_for_input: "waiting", running: "busy", streaming: "busy" };
const told = new Set();
let others = "";
let shown = [];

export const notifies = () => localStorage.getItem(KEY) === "yes" && globalThis.Notification?.permission === "granted";
export const setNotifies = (wanted) => localStorage.setItem(KEY, wanted ? "yes" : "no");

export async function askForNotifications() {
  if (!globalThis.Notification || !navigator.serviceWorker) return false;
  return Notification.permission === "granted" || (await Notification.requestPermission()) === "granted";
}

export function showState(state, title, isLost) {
  shown = [state, title, isLost];
  document.title = `${others}${T.titles[state] ?? ""}${title ? `${title} – ` : ""}${T.product}`;
  const href = `/site/icons/${isLost ? "lost" : others ? "waiting" : ICONS[state] ?? "idle"}.svg`;
  const icon = document.getElementById("icon");
  if (!icon.href.endsWith(href)) icon.href = href;
}

// Another session than the one that is shown waits for the user.
export function showWaiting(isWaiting) {
  if ((others !== "") === isWaiting) return;
  others = isWaiting ? T.otherWaits : "";
  if (shown.length) showState(...shown);
}

// One notification for each ask, by its `ts`: another tab that tells the same replaces it. A worker shows it, because
// phones let pages show none themselves.
export function notify(asks) {
  const isHidden = document.visibilityState !== "visible";
  for (const { session, row } of asks) {
    const tag = `${session.id}:${row.ts}`;
    if (told.has(tag)) continue;
    told.add(tag);
    if (isHidden && notifies()) show(session, row, tag).catch(() => {});
  }
}

async function show(session, row, tag) {
  const worker = await navigator.serviceWorker.register(notifierUrl());
  await ready(worker);
  const body = row.asked?.title ?? row.asked?.question ?? T.states.waiting_for_input;
  await worker.showNotification(session.name || session.title || T.product, { body, tag, data: session.id });
}

function ready(registration) {
  const worker = registration.active ?? registration.waiting ?? registration.installing;
  if (worker.state === "activated") return undefined;
  return new Promise((resolve) => worker.addEventListener("statechange", () => worker.state === "activated" && resolve()));
}

// What happens when the user chooses a notification: this page, if it is the newest, opens the session.
export function onNotified(open) {
  navigator.serviceWorker?.addEventListener("message", (event) => open(String(event.data)));
}
