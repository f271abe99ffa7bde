// One session as the page knows it: rows and calls in order, panels, and the state of the connection.

import { sessions } from "./api.js";
import { AT_REST, detectAgentState } from "./agent-state.js";
import { Stream } from "./stream.js";

const MAX_ROWS = 2_000;
const PAGE = 100;
let requests = 0;

export class SessionStore {
  constructor(id, { onChange, onRemark, onOverview }) {
    this.id = id;
    this.onChange = onChange;
    this.onRemark = onRemark;
    this.onOverview = onOverview;
    this.rows = new Map();
    this.calls = new Map();
    this.panels = {};
    this.older = 0;
    this.isLoaded = false;
    this.isOver = false;
    this.connection = "connecting";
    this.waiting = new Map(); // answers that come as events, by request
    this.version = 0;
    this.open();
  }

  open() {
    this.stream = new Stream(
      sessions.eventsPath(this.id),
      (change) => this.#take(change),
      (state, status) => {
        this.connection = status === 404 ? "stopped" : state;
        this.#changed();
      },
    );
  }

  close() {
    this.stream.close();
  }

  get state() {
    return detectAgentState([...this.rows.values()]);
  }

  // That of the task, unless it is at rest while an agent asks something.
  get ask() {
    const asks = this.panels.asks ?? [];
    return asks.find((row) => !row.isBeside && !AT_REST.includes(row.ask)) ?? asks.find((row) => row.isBeside) ?? asks[0] ?? null;
  }

  send(command) {
    return sessions.command(this.id, command);
  }

  // Sends a command whose answer is an event with the same request id.
  request(command) {
    const requestId = `${Date.now().toString(36)}-${++requests}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(requestId, null), 60_000);
      this.waiting.set(requestId, { resolve, timer });
      this.send({ ...command, requestId }).catch((problem) => {
        this.waiting.delete(requestId);
        reject(problem);
      });
    });
  }

  async loadOlder() {
    if (!this.older || this.isLoadingOlder || !this.isLoaded) return;
    this.isLoadingOlder = true;
    try {
      const first = this.rows.keys().next().value;
      const page = await this.request({ type: "olderRows", limit: PAGE, ...(first && { beforeTs: first }) });
      if (!page || this.rows.keys().next().value !== first) return;
      this.rows = new Map([...page.rows.map((row) => [row.ts, row]), ...this.rows]);
      for (const call of page.calls ?? []) if (!this.calls.has(call.callId)) this.calls.set(call.callId, call);
      this.older = page.older ?? 0;
    } finally {
      this.isLoadingOlder = false;
      this.#changed();
    }
  }

  #settle(requestId, value) {
    const waiting = this.waiting.get(requestId);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    this.waiting.delete(requestId);
    waiting.resolve(value);
  }

  #take(change) {
    if (change.t === "overview") return this.onOverview(change);
    const handler = TAKE[change.t];
    if (handler) handler(this, change);
    if (change.requestId) this.#settle(change.requestId, change.t === "reply" ? change.value : change);
    this.#changed();
  }

  #changed() {
    this.version += 1;
    if (this.isScheduled) return;
    this.isScheduled = true;
    const tell = () => {
      this.isScheduled = false;
      this.onChange();
    };
    // No frames are drawn while the page is hidden, but title and notifications must still follow.
    if (document.visibilityState === "hidden") setTimeout(tell, 50);
    else requestAnimationFrame(tell);
  }
}

const TAKE = {
  whole(store, change) {
    store.rows = new Map(change.rows.map((row) => [row.ts, row]));
    store.calls = new Map(change.calls.map((call) => [call.callId, call]));
    store.panels = { ...change.panels };
    store.older = change.older ?? 0;
    store.isLoaded = true;
    store.isOver = false;
  },
  row(store, { row }) {
    store.rows.set(row.ts, row);
    while (store.rows.size > MAX_ROWS) {
      store.rows.delete(store.rows.keys().next().value);
      store.older += 1;
    }
  },
  prose(store, { ts, start = 0, blocks = [] }) {
    const row = store.rows.get(ts);
    if (row) store.rows.set(ts, { ...row, blocks: [...(row.blocks ?? []).slice(0, start), ...blocks] });
  },
  text(store, { ts, tail, length }) {
    const row = store.rows.get(ts);
    if (row) store.rows.set(ts, { ...row, text: tail, grown: length });
  },
  call(store, { call }) {
    store.calls.set(call.callId, call);
  },
  panel(store, { name, value }) {
    store.panels = { ...store.panels, [name]: value };
  },
  remark(store, { level, text }) {
    store.onRemark(text, level);
  },
  over(store) {
    store.isOver = true;
  },
};

// What is shown, in order: rows, and each call once, where its first row is.
export function itemsOf(store) {
  const items = [];
  const placed = new Set();
  const open = new Set((store.panels?.asks ?? []).map((row) => row.ts)); // shown as a card
  for (const row of store.rows.values()) {
    const call = row.callId ? store.calls.get(row.callId) : undefined;
    if (open.has(row.ts) && (!call || SPEAKING.has(call.purpose))) continue;
    if (!call || SPEAKING.has(call.purpose)) {
      items.push({ at: row.ts, key: `r${row.ts}`, row });
    } else if (!placed.has(call.callId)) {
      placed.add(call.callId);
      items.push({ at: row.ts, key: `c${call.callId}`, call });
    }
  }
  for (const call of store.calls.values()) {
    if (!placed.has(call.callId) && !SPEAKING.has(call.purpose)) items.push({ at: call.after + 0.5, key: `c${call.callId}`, call });
  }
  return items.sort((one, other) => one.at - other.at);
}

const SPEAKING = new Set(["question", "completion"]);
