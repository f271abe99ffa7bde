// Server-sent events over fetch. The stream is watched: if no data comes, not even a beat, it is opened again.

import { headers } from "./api.js";

const SILENT_MS = 25_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

export class Stream {
  // `onData` gets each value, `onState` one of: connecting, open, lost, refused.
  constructor(path, onData, onState) {
    this.path = path;
    this.onData = onData;
    this.onState = onState;
    this.lastId = "";
    this.pause = FIRST_PAUSE_MS;
    this.isClosed = false;
    this.wake = () => this.#wakeUp();
    for (const name of ["online", "focus"]) window.addEventListener(name, this.wake);
    document.addEventListener("visibilitychange", this.wake);
    this.#connect();
  }

  close() {
    this.isClosed = true;
    for (const name of ["online", "focus"]) window.removeEventListener(name, this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    this.abort?.abort();
  }

  // After sleep the connection may be dead without anybody having noticed.
  #wakeUp() {
    if (this.isClosed || document.visibilityState === "hidden") return;
    if (this.isOpen && Date.now() - this.heardAt < SILENT_MS / 2) return;
    this.pause = FIRST_PAUSE_MS;
    this.#connect();
  }

  #connect() {
    clearTimeout(this.timer);
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this.isOpen = false;
    this.onState("connecting");
    this.#listen(abort).then(
      () => this.#retry(abort),
      (problem) => this.#retry(abort, problem),
    );
  }

  #heard() {
    this.heardAt = Date.now();
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.#connect(), SILENT_MS);
  }

  async #listen(abort) {
    this.#heard();
    const sent = { ...headers(), accept: "text/event-stream", ...(this.lastId && { "last-event-id": this.lastId }) };
    const response = await fetch(this.path, { headers: sent, signal: abort.signal, cache: "no-store", redirect: "error" });
    if (!response.ok) throw Object.assign(new Error(`${response.status}`), { status: response.status });
    this.isOpen = true;
    this.pause = FIRST_PAUSE_MS;
    this.onState("open");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (abort.signal.aborted) return;
      this.#heard();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) this.#take(event);
    }
  }

  #take(event) {
    let id = null;
    const data = [];
    for (const line of event.split("\n")) {
      if (line.startsWith("id: ")) id = line.slice(4);
      else if (line.startsWith("data: ")) data.push(line.slice(6));
    }
    if (data.length) {
      const value = JSON.parse(data.join("\n"));
      if (value.t !== "beat") this.onData(value);
    }
    if (id !== null) this.lastId = id;
  }

  #retry(abort, problem) {
    if (this.isClosed || abort.signal.aborted || abort !== this.abort) return;
    this.isOpen = false;
    clearTimeout(this.watch);
    const isRefused = [401, 403, 404, 421].includes(problem?.status);
    this.onState(isRefused ? "refused" : "lost", problem?.status);
    if (isRefused) return;
    this.timer = setTimeout(() => this.#connect(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }
}
