// The page: letting this browser in, the list of sessions, and the one that is shown.

import { Component, html, render } from "./ui.js";
import { Refused, enter, get, sessions } from "./api.js";
import { Stream } from "./stream.js";
import { SessionStore } from "./session-store.js";
import { Sidebar } from "./sidebar.js";
import { AT_REST } from "./agent-state.js";
import { SessionView, isStopped } from "./session-view.js";
import { Home, needing } from "./home.js";
import { Panels } from "./panels.js";
import { CommandDialog, isForDialog } from "./command-dialog.js";
import { Entrance, NewSession, Rewind, Settings } from "./dialogs.js";
import { titleOfAsk } from "./rows.js";
import { notify, onNotified, showState, showWaiting } from "./notify.js";
import { showTheme } from "./theme.js";
import { T } from "./strings.js";

const HIDDEN_MS = 30_000;
const TOAST_MS = 6_000;
const LONG_TOAST_MS = 15_000;
const SHORT = 200;
const WIDE = "(min-width: 1280px)";

class App extends Component {
  state = { me: null, problem: "", overview: { sessions: [], asks: [] }, id: null, store: null, dialog: null, toasts: [], isMenu: false, isPanels: matchMedia(WIDE).matches, tab: "plan", drafts: {}, version: 0 };

  componentDidMount() {
    showTheme();
    window.addEventListener("popstate", () => this.show(idInPath()));
    window.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onVisibility);
    matchMedia(WIDE).addEventListener("change", (wide) => this.setState({ isPanels: wide.matches }));
    onNotified((id) => this.open(id));
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
    notify(needing(overview));
    if (this.state.id) showWaiting(needing(overview).some((each) => each.session.id !== this.state.id));
    else this.showHome(overview);
    if (!this.state.id && overview.sessions.length && !this.hasChosen) {
      this.hasChosen = true;
      // Several that wait are a list to answer; a single one, or one that works, is what the user came for.
      const asking = [...new Set(needing(overview).map((each) => each.session.id))];
      const first = asking.length ? asking : overview.sessions.filter((each) => each.isRunning).map((each) => each.id);
      if (first.length === 1) this.open(first[0]);
    }
  }

  showHome(overview) {
    showWaiting(false);
    showState(needing(overview).length ? "waiting_for_input" : "no_task", "", false);
  }

  open(id) {
    this.hasChosen = true;
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
    this.followIfStopped(store);
    const state = store.isLoaded ? store.state : "no_task";
    const ask = store.ask;
    const name = store.panels.session?.name ?? this.entry?.title ?? "";
    showState(state, name, store.connection === "lost");
    const spoken = ask && !AT_REST.includes(ask.ask) ? `${T.states.waiting_for_input}: ${titleOfAsk(ask)}` : T.states[state];
    this.setState({ version: store.version, spoken });
  }

  // The list comes with the events of the session, unless that does not run.
  followIfStopped(store) {
    if (isStopped(store)) this.overviewStream ??= this.follow();
    else if (store.connection === "open" && this.overviewStream) {
      this.overviewStream.close();
      this.overviewStream = null;
    }
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

  // `action` is what can be done about it: a label, and what runs.
  tell = (text, level = "warning", action = null) => {
    const dismiss = () => this.setState(({ toasts }) => ({ toasts: toasts.filter((each) => each !== toast) }));
    const toast = { id: Math.random(), text, level, dismiss, action: action && { ...action, run: () => { dismiss(); action.run(); } } };
    this.setState(({ toasts }) => ({ toasts: [...toasts.slice(-3), toast] }));
    setTimeout(dismiss, action ? LONG_TOAST_MS : TOAST_MS);
  };

  send = (command) => this.state.store.send(command);

  // Sends a command, and shows what a slash command gave back.
  run = async (command) => {
    const receipt = await this.send(command);
    if (receipt?.outcome) this.takeOutcome(receipt.outcome, command.line);
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

  takeOutcome = (outcome, line) => {
    const isShort = outcome.view?.kind === "text" && outcome.view.text.length < SHORT && !outcome.view.text.trim().includes("\n");
    const isTool = Object.hasOwn(T.tools, line?.slice(1).trim());
    if (outcome.kind === "shown" && isShort && !isTool) return outcome.view.text ? this.tell(outcome.view.text, "info") : undefined;
    if (outcome.kind === "agents") this.showPanel("background");
    if (isForDialog(outcome)) return this.setState({ dialog: { kind: "command", outcome, line } });
    switch (outcome.kind) {
      case "leave":
      case "inbox":
        return this.open(null);
      case "copy":
        return navigator.clipboard?.writeText(outcome.text).then(() => this.tell(T.copied, "info"), () => this.setState({ dialog: { kind: "command", line, outcome: { kind: "shown", view: { kind: "text", text: outcome.text } } } }));
      case "session":
        return this.goOn(outcome);
      case "detach":
        return this.tell(T.staysHere, "info");
      default:
        return undefined;
    }
  };

  // Another session, a new one, or this one with other settings.
  async goOn({ sessionId, provider, model, effort, language, setsUp, decidesTrust }) {
    if (setsUp || decidesTrust) return this.tell(T.inTerminal);
    if (!sessionId) return this.setState({ dialog: { kind: "new" } });
    if (sessionId !== this.state.id || !(provider || model || effort || language)) return this.resume(sessionId);
    try {
      await sessions.reopen(sessionId, { provider, model, effort, language });
      return this.tell(T.reopened, "info");
    } catch (problem) {
      return this.tell(problem.message);
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
        if (verb === "delete") {
          if (session.id === this.state.id) this.open(null);
          this.tell(T.trashed, "info", { label: T.undo, run: () => manage("restore")(session) });
        }
      } catch (problem) {
        this.tell(problem.message);
      }
    };
    return {
      rename: (session, name) => {
        if (session.isRunning) sessions.command(session.id, { type: "slashCommand", line: `/rename ${name}` }).catch((problem) => this.tell(problem.message));
        else manage("rename")(session, name);
      },
      fork: manage("fork"),
      trash: manage("delete"),
      end: (session) => sessions.close(session.id).catch((problem) => this.tell(problem.message)),
    };
  }

  showPanel = (tab) => this.setState({ isPanels: true, tab });

  // What a session on the page can do.
  get app() {
    const { tell, send, run, runLine, setDraft, resume, showPanel, onLine } = this;
    const togglePanels = () => this.setState({ isPanels: !this.state.isPanels });
    const rewind = () => this.setState({ dialog: { kind: "rewind" } });
    return { tell, send, run, runLine, setDraft, resume, showPanel, onLine, togglePanels, rewind, openMenu: () => this.setState({ isMenu: true }) };
  }

  render(_, { me, problem, overview, id, store, toasts, isMenu, isPanels, tab, version, spoken, drafts }) {
    if (me === null) return html`<p class="boot">${problem || T.connection.connecting}</p>`;
    if (me === false) return html`<${Entrance} problem=${problem} isLoopback=${["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)} onEntered=${() => this.begin()} />`;
    const isViewing = me.access !== "full";
    const { tell, app } = this;
    const openNew = () => this.setState({ dialog: { kind: "new" }, isMenu: false });
    const isLive = store?.isLoaded && store.connection === "open" && !store.isOver;
    const title = store && (store.panels.session?.name || this.entry?.title || store.id);
    return html`<a class="skip" href="#input" onClick=${(event) => { event.preventDefault(); document.getElementById("input")?.focus(); }}>${T.skip}</a>
      <div class=${`layout ${isPanels && store ? "with-panels" : ""}`}>
        <${Sidebar} ...${{ overview, isViewing, isOpen: isMenu, actions: this.actions }} current=${id} currentState=${isLive ? store.state : null} onClose=${() => this.setState({ isMenu: false })} onOpen=${(each) => this.open(each)} onNew=${openNew} onSettings=${() => this.setState({ dialog: { kind: "settings" }, isMenu: false })} />
        ${isMenu && html`<div class="scrim" onClick=${() => this.setState({ isMenu: false })}></div>`}
        <main class="main">${store
          ? html`<${SessionView} key=${id} ...${{ store, title, isViewing, version, app }} draft=${drafts[id] ?? ""} />`
          : html`<${Home} ...${{ overview, isViewing, tell }} onMenu=${app.openMenu} onNew=${openNew} onOpen=${(each) => this.open(each)} />`}</main>
        ${isPanels && store && html`<${Panels} key=${id} ...${{ store, tab, isViewing, version, tell }} setTab=${this.showPanel} run=${this.run} onLine=${isViewing ? null : this.onLine} onClose=${app.togglePanels} />`}
      </div>
      <div class="sr" role="status" aria-live="polite">${spoken}</div>
      <div class="toasts" role="alert">${toasts.map((toast) => html`<div key=${toast.id} class=${`toast ${toast.level}`}><span>${toast.text}</span>${toast.action && html`<button type="button" class="link" onClick=${toast.action.run}>${toast.action.label}</button>`}</div>`)}</div>
      ${this.dialog(store, me)}`;
  }

  dialog(store, me) {
    const { dialog, overview } = this.state;
    const { tell } = this;
    const onClose = () => this.setState({ dialog: null });
    const directories = [...new Set([me.cwd, ...overview.sessions.map((each) => each.cwd)])].slice(0, 40);
    switch (dialog?.kind) {
      case "new":
        return html`<${NewSession} ...${{ cwd: me.cwd, directories, onClose, tell }} onStarted=${(started) => { onClose(); this.open(started); }} />`;
      case "rewind":
        return store && html`<${Rewind} ...${{ store, onClose, tell }} setDraft=${this.setDraft} />`;
      case "command":
        return store && html`<${CommandDialog} key=${dialog.line} ...${{ ...dialog, onClose, tell }} send=${this.send} elsewhere=${this.takeOutcome} fill=${this.runLine} onLine=${this.onLine} />`;
      case "settings":
        return html`<${Settings} ...${{ me, onClose, tell }} hasSession=${Boolean(store)} run=${this.runLine} />`;
      default:
        return null;
    }
  }
}

function idInPath() {
  const found = /^\/s\/([^/]+)$/.exec(location.pathname);
  try {
    return found ? decodeURIComponent(found[1]) : null;
  } catch {
    return null;
  }
}

render(html`<${App} />`, document.getElementById("app"));
