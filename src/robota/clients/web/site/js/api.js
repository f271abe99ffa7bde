// Requests to the server. Two secrets go with each: a cookie that no script can read, and a key of this origin.

const KEY = "robota-key";
let key = localStorage.getItem(KEY) ?? "";

export class Refused extends Error {
  constructor(status, body) {
    super(body?.message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = body?.code ?? "unknown";
    this.body = body;
  }
}

export const headers = () => ({ "x-robota-key": key });

async function answered(response) {
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    if (!response.ok) throw new Refused(response.status, { message: text.slice(0, 300) });
  }
  if (!response.ok || body?.receipt === "refused") throw new Refused(response.status, body);
  return body;
}

export async function get(path) {
  return answered(await fetch(path, { headers: headers(), cache: "no-store", redirect: "error" }));
}

export async function post(path, value = {}) {
  const body = JSON.stringify(value);
  const sent = { ...headers(), "content-type": "application/json" };
  return answered(await fetch(path, { method: "POST", headers: sent, body, cache: "no-store", redirect: "error" }));
}

function keep(admission) {
  key = admission.key;
  localStorage.setItem(KEY, key);
}

export async function enter(token) {
  keep(await post("/api/enter", { token, name: deviceName() }));
}

export const knock = () => post("/api/pair", { name: deviceName() });

export async function enterCode(id, code) {
  keep(await post("/api/pair/code", { id, code }));
}

function deviceName() {
  const agent = navigator.userAgent;
  const browser = ["Firefox", "Edg", "OPR", "Chrome", "Safari"].find((name) => agent.includes(name)) ?? "Browser";
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((name) => agent.includes(name)) ?? "";
  return `${browser === "Edg" ? "Edge" : browser}${system ? ` on ${system}` : ""}`;
}

const path = (id) => `/api/sessions/${encodeURIComponent(id)}`;

export const sessions = {
  command: (id, command) => post(`${path(id)}/commands`, command),
  resume: (id) => post(`${path(id)}/resume`),
  reopen: (id, wanted) => post(`${path(id)}/reopen`, wanted),
  close: (id) => post(`${path(id)}/close`),
  manage: (id, verb, name = "") => post(`${path(id)}/manage/${verb}`, { name }),
  start: (wanted) => post("/api/sessions", wanted),
  eventsPath: (id) => `${path(id)}/events`,
};
