// All sessions: what needs the user first, then what runs, then the earlier ones.

import { IconButton, ago, html, useEffect, useRef, useState } from "./ui.js";
import { needing } from "./home.js";
import { T } from "./strings.js";

const EARLIER_SHOWN = 60;
const FOUND_SHOWN = 200;

export function Sidebar({ overview, current, currentState, isOpen, onClose, onOpen, onNew, onSettings, actions, isViewing }) {
  const [words, setWords] = useState("");
  const asks = needing(overview);
  const asking = new Set(asks.map((each) => each.session.id));
  const isMeant = (session) => words.toLowerCase().split(/\s+/).every((word) => `${session.title} ${session.name ?? ""} ${session.cwd} ${session.model}`.toLowerCase().includes(word));
  const sessions = overview.sessions.filter(isMeant);
  const waiting = [...new Map(asks.filter((each) => isMeant(each.session)).map((each) => [each.session.id, { ...each.session, isAsking: true }])).values()];
  const groups = [
    [T.needsYou, waiting],
    [T.running, sessions.filter((each) => each.isRunning && !asking.has(each.id))],
    [T.earlier, sessions.filter((each) => !each.isRunning && !asking.has(each.id)).slice(0, words ? FOUND_SHOWN : EARLIER_SHOWN)],
  ];
  const isNothing = groups.every(([, list]) => !list.length);
  const goHome = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(null);
  };
  return html`<nav class=${`sidebar ${isOpen ? "open" : ""}`} aria-label=${T.sessions}>
    <header><a class="brand" href="/" onClick=${goHome} title=${T.home}>${T.product}</a>
      ${asks.length > 0 && html`<${IconButton} icon="inbox" label=${T.inbox(asks.length)} class="has-count" data-count=${asks.length} onClick=${goHome} />`}
      ${!isViewing && html`<${IconButton} icon="plus" label=${T.newSession} onClick=${onNew} />`}
      <${IconButton} icon="gear" label=${T.settings} onClick=${onSettings} />
      <${IconButton} icon="close" label=${T.close} class="only-phone" onClick=${onClose} /></header>
    <input id="search" type="search" placeholder=${T.search} aria-label=${T.search} value=${words} onInput=${(event) => setWords(event.target.value)} />
    <div class="session-lists">
      ${isNothing && overview.isLoaded && html`<p class="muted pad">${words ? T.nothingFound : T.nothingHere}</p>`}
      ${groups.map(([title, list]) => list.length > 0 && html`<section key=${title}><h2>${title}</h2><ul>${list.map((each) => html`<${Entry} key=${each.id} session=${each} isCurrent=${each.id === current} liveState=${each.id === current ? currentState : null} ...${{ onOpen, actions, isViewing }} />`)}</ul></section>`)}
    </div>
  </nav>`;
}

function Entry({ session, isCurrent, liveState, onOpen, actions, isViewing }) {
  const [isRenaming, setRenaming] = useState(false);
  const state = liveState ?? (session.isAsking ? "waiting_for_input" : session.isRunning ? session.state ?? "running" : "stored");
  const title = session.name || session.title || session.id;
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(session.id);
  };
  if (isRenaming) return html`<li><${Renaming} title=${title} onDone=${(name) => { setRenaming(false); if (name) actions.rename(session, name); }} /></li>`;
  return html`<li class=${isCurrent ? "current" : ""}>
    <a href=${`/s/${encodeURIComponent(session.id)}`} aria-current=${isCurrent ? "page" : undefined} onClick=${open}>
      <span class=${`state-dot ${state}`} role="img" aria-label=${T.states[state] ?? T.states.stopped}></span>
      <span class="entry-title" title=${title}>${title}</span>
      <span class="entry-detail">${session.cwd.split("/").at(-1)} · ${ago(session.modifiedMs)}</span></a>
    ${!isViewing && html`<${Menu} ...${{ session, actions, title }} rename=${() => setRenaming(true)} />`}
  </li>`;
}

function Renaming({ title, onDone }) {
  const [name, setName] = useState(title);
  const input = useRef(null);
  useEffect(() => { input.current.select(); }, []);
  const submit = (event) => {
    event.preventDefault();
    onDone(name.trim() === title ? "" : name.trim());
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onDone("");
  };
  return html`<form class="inline-form" onSubmit=${submit}><input ref=${input} aria-label=${T.name} value=${name} autofocus onInput=${(event) => setName(event.target.value)} onKeyDown=${onKeyDown} /><button type="submit" class="button small">${T.save}</button></form>`;
}

function Menu({ session, actions, title, rename }) {
  const [isOpen, setOpen] = useState(false);
  const frame = useRef(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    frame.current.querySelector(".menu button").focus();
    const onOutside = (event) => frame.current.contains(event.target) || setOpen(false);
    window.addEventListener("pointerdown", onOutside);
    return () => window.removeEventListener("pointerdown", onOutside);
  }, [isOpen]);
  const choose = (act) => () => {
    setOpen(false);
    act(session);
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      event.stopPropagation();
      setOpen(false);
      frame.current.querySelector(".entry-menu").focus();
    } else if (step && isOpen && !event.altKey) {
      event.preventDefault();
      const buttons = [...frame.current.querySelectorAll(".menu button")];
      buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
    }
  };
  return html`<div ref=${frame} class="menu-frame" onKeyDown=${onKeyDown}>
    <${IconButton} icon="dots" label=${T.actionsFor(title)} class="entry-menu" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)} />
    ${isOpen && html`<div class="menu">
      <button type="button" onClick=${choose(rename)}>${T.rename}</button>
      <button type="button" onClick=${choose(actions.fork)}>${T.fork}</button>
      ${session.isRunning ? session.isHere && html`<button type="button" onClick=${choose(actions.end)}>${T.closeSession}</button>` : html`<button type="button" class="bad" onClick=${choose(actions.trash)}>${T.trash}</button>`}
    </div>`}
  </div>`;
}
