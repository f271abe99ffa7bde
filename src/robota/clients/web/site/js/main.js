// The page: letting this browser in, the list of sessions, and the one that is shown.

import { Component, Icon, IconButton, html, money, render } from "./ui.js";
import { Refused, enter, get, sessions } from "./api.js";
import { Stream } from "./stream.js";
import { SessionStore } from "./session-store.js";
import { Sidebar } from "./sidebar.js";
import { Transcript } from "./transcript.js";
import { AskCard } from "./ask-card.js";
import { Composer } from "./composer.js";
import { ContextMeter, Panels, Queue, titleOfAsk } from "./panels.js";
import { Entrance, NewSession, Outcome, Rewind, Settings } from "./dialogs.js";
import { notify, showState } from "./notify.js";
import { showTheme } from "./theme.js";
import { T } from "./strings.js";

const HIDDEN_MS = 30_000;
const TOAST_MS = 6_000;
const PERMISSION_MODES = ["default", "acceptEdits", "plan", "confined", "bypassPermissions"];
const AT_REST = ["completion_result", "resume_completed_task"];

class App extends Component {
  state = { me: null, problem: "", overview: { sessions: [], asks: [] }, id: null, store: null, dialog: null, toasts: [], isMenu: false, isPanels: matchMedia("(min-width: 1280px)").matches, drafts: {}, version: 0 };

  componentDidMount() {
    showTheme();
    window.addEventListener("popstate", () => this.show(idInPath()));
    window.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onVisibility);
    matchMedia("(min-width: 1181px)").addEventListener("change", (wide) => !wide.matches && this.setState({ isPanels: false }));
    this.begin();
  }

  async begin() {
    const token = location.hash.slice(1);
    // The secret must not stay in the address, where it would be copied and remembered.
    if (token) history.replaceState(null, "", location.pathname);
    let problem = "";
    if (token) await enter(token).catch((error) => { problem = error.message; });
    try {
      this.setState({ me: await get("/api/me"), problem: "" });
    } catch (error) {
      if (error instanceof Refused) return this.setState({ me: false, problem });
      this.setState({ problem: T.connection.lost });
      return setTimeout(() => this.begin(), 2_000);
    }
    this.hasBegun = true;
    this.show(idInPath());
  }

  // Without a session, the list comes by itself; otherwise with the events of the session, because browsers open few
  // connections to one server.
  follow() {
    return new Stream("/api/overview", (value) => this.takeOverview(value), (state) => {
      if (state === "refused") this.setState({ me: false, problem: T.connection.refused });
    });
  }

  takeOverview(overview) {
    this.setState({ overview: { ...overview, isLoaded: true } });
    notify(overview.asks.filter((each) => !AT_REST.includes(each.row.ask)), (id) => this.open(id));
    if (!this.state.id && overview.sessions.length && !this.hasChosen) {
      this.hasChosen = true;
      const first = overview.asks[0]?.session ?? overview.sessions.find((each) => each.isRunning);
      if (first) this.open(first.id);
    }
  }

  open(id) {
    if (id !== idInPath()) history.pushState(null, "", id ? `/s/${encodeURIComponent(id)}` : "/");
    this.show(id);
  }

  show(id) {
    if (this.state.store && this.state.store.id === id) return this.setState({ isMenu: false });
    this.state.store?.close();
    const store = id ? new SessionStore(id, { onChange: () => this.onSession(store), onRemark: this.tell, onOverview: (overview) => this.takeOverview(overview) }) : null;
    this.overviewStream?.close();
    this.overviewStream = store ? null : this.follow();
    this.setState({ id, store, isMenu: false, dialog: null });
  }

  onSession(store) {
    if (this.state.store !== store) return;
    const state = store.isLoaded ? store.state : "no_task";
    const ask = store.ask;
    const name = store.panels.session?.name ?? this.entry?.title ?? "";
    showState(state, name, store.connection === "lost");
    const spoken = ask && !AT_REST.includes(ask.ask) ? `${T.states.waiting_for_input}: ${titleOfAsk(ask)}` : T.states[state];
    this.setState({ version: store.version, spoken });
  }

  get entry() {
    return this.state.overview.sessions.find((each) => each.id === this.state.id);
  }

  onVisibility = () => {
    clearTimeout(this.hiding);
    if (document.visibilityState === "visible") {
      if (this.isAsleep) this.#wakeUp();
    } else {
      // Browsers allow few connections to one server, so pages that nobody looks at give theirs back.
      this.hiding = setTimeout(() => {
        if (this.state.store?.state === "streaming") return;
        this.#sleep();
      }, HIDDEN_MS);
    }
  };

  // One hidden page of the browser keeps listening, so that there are notifications.
  #sleep() {
    this.isAsleep = true;
    this.state.store?.close();
    this.overviewStream?.close();
    this.overviewStream = null;
    navigator.locks?.request("robota-watch", { ifAvailable: true }, (lock) => {
      if (!lock || !this.isAsleep) return undefined;
      this.overviewStream = this.follow();
      return new Promise((resolve) => { this.stopWatching = resolve; });
    });
  }

  #wakeUp() {
    this.isAsleep = false;
    this.stopWatching?.();
    this.overviewStream?.close();
    this.overviewStream = this.state.store ? null : this.follow();
    this.state.store?.open();
  }

  onKey = (event) => {
    const isWriting = event.target.closest?.("input, textarea, select");
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.setState({ isMenu: true }, () => document.getElementById("search")?.focus());
    } else if (event.key === "Escape" && !event.target.closest?.("dialog")) {
      if (this.state.isMenu) this.setState({ isMenu: false });
      else if (["running", "streaming"].includes(this.state.store?.state) && this.state.me.access === "full") this.send({ type: "cancelTask" }).catch((problem) => this.tell(problem.message));
    } else if (event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
      event.preventDefault();
      this.step(event.key === "ArrowDown" ? 1 : -1);
    } else if (!isWriting && !event.ctrlKey && !event.metaKey && event.key === "/") {
      event.preventDefault();
      document.getElementById("input")?.focus();
    } else if (!isWriting && event.key === "?") this.setState({ dialog: { kind: "settings" } });
  };

  step(by) {
    const ids = [...document.querySelectorAll(".sidebar li > a")].map((link) => decodeURIComponent(link.pathname.slice(3)));
    const next = ids[ids.indexOf(this.state.id) + by];
    if (next) this.open(next);
  }

  tell = (text, level = "warning") => {
    const toast = { id: Math.random(), text, level };
    this.setState(({ toasts }) => ({ toasts: [...toasts.slice(-3), toast] }));
    setTimeout(() => this.setState(({ toasts }) => ({ toasts: toasts.filter((each) => each !== toast) })), TOAST_MS);
  };

  send = (command) => this.state.store.send(command);

  // Sends a command, and shows what a slash command gave back.
  run = async (command) => {
    const receipt = await this.send(command);
    if (receipt?.outcome) this.takeOutcome({ ...receipt.outcome, line: receipt.outcome.line ?? command.line }, command.line);
    return receipt;
  };

  runLine = (line) => {
    this.setState({ dialog: null });
    if (line.endsWith(" ")) {
      this.setDraft(line);
      return document.getElementById("input")?.focus();
    }
    return this.run({ type: "slashCommand", line }).catch((problem) => this.tell(problem.message));
  };

  takeOutcome(outcome) {
    switch (outcome.kind) {
      case "started":
        return;
      case "leave":
        return this.open(null);
      case "copy":
        return navigator.clipboard?.writeText(outcome.text).then(() => this.tell(T.copied, "info"), () => this.setState({ dialog: { kind: "outcome", outcome: { kind: "shown", view: { kind: "text", text: outcome.text } } } }));
      case "session":
        return outcome.sessionId ? this.resume(outcome.sessionId) : this.setState({ dialog: { kind: "new" } });
      case "shown":
        if (outcome.view.kind === "text" && outcome.view.text.length < 200 && !outcome.view.text.trim().includes("\n")) {
          return outcome.view.text && this.tell(outcome.view.text, "info");
        }
        return this.setState({ dialog: { kind: "outcome", outcome } });
      default:
        return this.setState({ dialog: { kind: "outcome", outcome } });
    }
  }

  resume = async (id) => {
    try {
      await sessions.resume(id);
      if (this.state.store?.id === id) {
        this.state.store.close();
        this.setState({ id: null, store: null }, () => this.open(id));
      } else this.open(id);
    } catch (problem) {
      this.tell(problem.message);
    }
  };

  onLine = (path, line) => this.runLine(`/why ${path}:${line}`);

  setDraft = (draft) => {
    const { id, drafts } = this.state;
    this.setState({ drafts: { ...drafts, [id]: typeof draft === "function" ? draft(drafts[id] ?? "") : draft } });
  };

  get actions() {
    const manage = (verb) => async (session, name) => {
      try {
        const receipt = await sessions.manage(session.id, verb, name);
        if (verb === "fork" && receipt.id) await this.resume(receipt.id);
        if (verb === "delete") this.tell(T.trashed, "info");
      } catch (problem) {
        this.tell(problem.message);
      }
    };
    return {
      rename: (session) => {
        const name = prompt(T.name, session.name ?? session.title);
        if (name === null) return;
        if (session.isRunning) sessions.command(session.id, { type: "slashCommand", line: `/rename ${name}` }).catch((problem) => this.tell(problem.message));
        else manage("rename")(session, name);
      },
      fork: (session) => manage("fork")(session),
      trash: (session) => manage("delete")(session),
      end: (session) => sessions.close(session.id).catch((problem) => this.tell(problem.message)),
    };
  }

  render(_, { me, problem, overview, id, store, dialog, toasts, isMenu, isPanels, version, spoken }) {
    if (me === null) return html`<p class="boot">${problem || T.connection.connecting}</p>`;
    if (me === false) return html`<${Entrance} problem=${problem} isLoopback=${["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)} onEntered=${() => this.begin()} />`;
    const isViewing = me.access !== "full";
    const close = () => this.setState({ dialog: null });
    return html`<a class="skip" href="#input" onClick=${(event) => { event.preventDefault(); document.getElementById("input")?.focus(); }}>${T.skip}</a>
      <div class=${`layout ${isPanels && store ? "with-panels" : ""}`}>
        <${Sidebar} ...${{ overview, isViewing }} current=${id} currentState=${store?.isLoaded && store.connection === "open" && !store.isOver ? store.state : null} isOpen=${isMenu} onClose=${() => this.setState({ isMenu: false })} onOpen=${(each) => this.open(each)} onNew=${() => this.setState({ dialog: { kind: "new" } })} onSettings=${() => this.setState({ dialog: { kind: "settings" } })} actions=${this.actions} />
        ${isMenu && html`<div class="scrim" onClick=${() => this.setState({ isMenu: false })}></div>`}
        <main class="main">${store ? this.session(store, isViewing, version) : html`<${Welcome} isViewing=${isViewing} onMenu=${() => this.setState({ isMenu: true })} onNew=${() => this.setState({ dialog: { kind: "new" } })} />`}</main>
        ${isPanels && store && html`<${Panels} key=${id} ...${{ store, isViewing, version }} fail=${this.tell} run=${this.run} onLine=${isViewing ? null : this.onLine} onClose=${() => this.setState({ isPanels: false })} />`}
      </div>
      <div class="sr" role="status" aria-live="polite">${spoken}</div>
      <div class="toasts" role="alert">${toasts.map((toast) => html`<div key=${toast.id} class=${`toast ${toast.level}`}>${toast.text}</div>`)}</div>
      ${dialog?.kind === "new" && html`<${NewSession} cwd=${me.cwd} directories=${[...new Set([me.cwd, ...overview.sessions.map((each) => each.cwd)])].slice(0, 40)} onClose=${close} fail=${this.tell} onStarted=${(started) => { close(); this.open(started); }} />`}
      ${dialog?.kind === "rewind" && store && html`<${Rewind} store=${store} onClose=${close} setDraft=${this.setDraft} fail=${this.tell} />`}
      ${dialog?.kind === "outcome" && html`<${Outcome} outcome=${dialog.outcome} onClose=${close} run=${this.runLine} onLine=${this.onLine} />`}
      ${dialog?.kind === "settings" && html`<${Settings} me=${me} hasSession=${Boolean(store)} onClose=${close} run=${this.runLine} fail=${this.tell} />`}`;
  }

  session(store, isViewing, version) {
    const panels = store.panels;
    const session = panels.session ?? {};
    const isStopped = store.connection === "stopped" || store.isOver;
    const state = isStopped ? "stopped" : store.isLoaded ? store.state : "no_task";
    const ask = isStopped ? null : store.ask;
    const isBusy = state === "running" || state === "streaming";
    const draft = this.state.drafts[store.id] ?? "";
    const isCard = ask && !AT_REST.includes(ask.ask) && ask.ask !== "completion_result";
    const shared = { store, isViewing, fail: this.tell };
    return html`<header class="bar">
        <${IconButton} icon="menu" label=${T.sessions} class="only-narrow" onClick=${() => this.setState({ isMenu: true })} />
        <div class="bar-title"><h1>${session.name || this.entry?.title || store.id}</h1><p class="small muted">${session.cwd ?? ""}</p></div>
        <span class=${`state ${state}`} data-state=${state}>${T.states[state]}</span>
        ${store.isLoaded && !isStopped && html`<div class="bar-tools">
          <select class="small-select" aria-label=${T.permissionMode} title=${T.permissionMode} disabled=${isViewing} value=${session.permissionMode} onChange=${(event) => this.setPermissionMode(event)}>${PERMISSION_MODES.filter((mode) => mode !== "confined" || session.canConfine || session.permissionMode === mode).map((mode) => html`<option value=${mode}>${T.modes[mode]}</option>`)}</select>
          <button type="button" class="small-select wide-only" disabled=${isViewing} title=${T.mode} onClick=${() => this.runLine("/mode")}>${session.mode}</button>
          <button type="button" class="small-select wide-only" disabled=${isViewing} title=${T.model} onClick=${() => this.runLine("/model")}>${session.model}</button>
          <span class="small muted wide-only cost">${money(panels.usage?.totalCost || null)}</span>
          <${ContextMeter} context=${panels.context} onClick=${() => this.setState({ isPanels: true })} />
          ${!isViewing && html`<${IconButton} icon="back" label=${T.rewind} onClick=${() => this.setState({ dialog: { kind: "rewind" } })} />`}
          <${IconButton} icon="panel" label=${T.details} onClick=${() => this.setState({ isPanels: !this.state.isPanels })} />
        </div>`}
      </header>
      ${store.connection !== "open" && !isStopped && html`<p class=${`connection ${store.connection}`} role="status">${T.connection[store.connection]}</p>`}
      <${Transcript} key=${store.id} ...${shared} version=${version} onLine=${isViewing ? null : this.onLine} />
      <div class="dock">
        ${isStopped
          ? html`<div class="ask"><p>${store.isOver ? T.sessionOver : T.connection.stopped}</p><div class="buttons"><button type="button" class="button primary" disabled=${isViewing} onClick=${() => this.resume(store.id)}>${T.resume}</button></div></div>`
          : html`${panels.retry && !isViewing && html`<div class="buttons"><button type="button" class="button" onClick=${() => this.send({ type: "retryNow" }).catch((problem) => this.tell(problem.message))}>${T.retryNow}</button></div>`}
            ${isCard && html`<${AskCard} key=${ask.ts} row=${ask} more=${(panels.asks?.length ?? 1) - 1} isViewing=${isViewing} send=${this.send} words=${() => draft.trim()} clearWords=${() => this.setDraft("")} fail=${this.tell} />`}
            ${ask && AT_REST.includes(ask.ask) && !isViewing && html`<div class="buttons rest">${[ask.controls?.primary, ask.controls?.secondary].filter(Boolean).map((button) => html`<button type="button" class="button" onClick=${() => this.send({ type: "clearTask" }).catch((problem) => this.tell(problem.message))}>${button.text}</button>`)}</div>`}
            <${Queue} queue=${panels.queue} send=${this.send} edit=${this.setDraft} ...${shared} />
            <${Composer} key=${store.id} ...${shared} ask=${ask} state=${state} draft=${draft} setDraft=${this.setDraft} run=${this.run} />`}
      </div>`;
  }

  async setPermissionMode(event) {
    const select = event.target;
    try {
      await this.send({ type: "permissionMode", permissionMode: select.value });
    } catch (problem) {
      select.value = this.state.store.panels.session?.permissionMode;
      this.tell(problem.message);
    }
  }
}

const Welcome = ({ onNew, onMenu, isViewing }) => html`<header class="bar only-narrow"><${IconButton} icon="menu" label=${T.sessions} onClick=${onMenu} /></header>
  <div class="welcome"><h1>${T.product}</h1>${!isViewing && html`<button type="button" class="button primary" onClick=${onNew}><${Icon} name="plus" /> ${T.newSession}</button>`}</div>`;

function idInPath() {
  const found = /^\/s\/([^/]+)$/.exec(location.pathname);
  try {
    return found ? decodeURIComponent(found[1]) : null;
  } catch {
    return null;
  }
}

render(html`<${App} />`, document.getElementById("app"));
