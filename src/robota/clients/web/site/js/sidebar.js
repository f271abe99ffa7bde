// All sessions: what needs the user first, then what runs, then the earlier ones.

import { IconButton, ago, html, useState } from "./ui.js";
import { T } from "./strings.js";

export function Sidebar({ overview, current, currentState, isOpen, onClose, onOpen, onNew, onSettings, actions, isViewing }) {
  const [words, setWords] = useState("");
  const asking = new Set(overview.asks.map((each) => each.session.id));
  const isMeant = (session) => words.toLowerCase().split(/\s+/).every((word) => `${session.title} ${session.name ?? ""} ${session.cwd} ${session.model}`.toLowerCase().includes(word));
  const sessions = overview.sessions.filter(isMeant);
  const groups = [
    [T.needsYou, overview.asks.filter((each) => isMeant(each.session)).map((each) => ({ ...each.session, ask: each.row.ask }))],
    [T.running, sessions.filter((each) => each.isRunning && !asking.has(each.id))],
    [T.earlier, sessions.filter((each) => !each.isRunning && !asking.has(each.id)).slice(0, words ? 200 : 60)],
  ];
  return html`<nav class=${`sidebar ${isOpen ? "open" : ""}`} aria-label=${T.sessions}>
    <header><strong class="brand">${T.product}</strong>
      ${!isViewing && html`<${IconButton} icon="plus" label=${T.newSession} onClick=${onNew} />`}
      <${IconButton} icon="gear" label=${T.settings} onClick=${onSettings} />
      <${IconButton} icon="close" label=${T.close} class="only-phone" onClick=${onClose} /></header>
    <input id="search" type="search" placeholder=${T.search} aria-label=${T.search} value=${words} onInput=${(event) => setWords(event.target.value)} />
    <div class="session-lists">
      ${!overview.sessions.length && overview.isLoaded && html`<p class="muted pad">${T.nothingHere}</p>`}
      ${groups.map(([title, list]) => list.length > 0 && html`<section key=${title}><h2>${title}</h2><ul>${list.map((each) => html`<${Entry} key=${each.id} session=${each} isCurrent=${each.id === current} liveState=${each.id === current ? currentState : null} ...${{ onOpen, actions, isViewing }} />`)}</ul></section>`)}
    </div>
  </nav>`;
}

function Entry({ session, isCurrent, liveState, onOpen, actions, isViewing }) {
  const [isMenu, setMenu] = useState(false);
  const state = liveState ?? (session.ask && session.ask !== "completion_result" ? "waiting_for_input" : session.isRunning ? session.state ?? "running" : "stored");
  const title = session.name || session.title || session.id;
  const choose = (act) => () => {
    setMenu(false);
    act(session);
  };
  return html`<li class=${isCurrent ? "current" : ""}>
    <a href=${`/s/${encodeURIComponent(session.id)}`} aria-current=${isCurrent ? "page" : undefined} onClick=${(event) => { if (event.ctrlKey || event.metaKey || event.shiftKey) return; event.preventDefault(); onOpen(session.id); }}>
      <span class=${`state-dot ${state}`} role="img" aria-label=${T.states[state] ?? ""}></span>
      <span class="entry-title">${title}</span>
      <span class="entry-detail">${session.cwd.split("/").at(-1)} · ${ago(session.modifiedMs)}</span></a>
    ${!isViewing && html`<${IconButton} icon="dots" label=${T.details} class="entry-menu" aria-expanded=${isMenu} onClick=${() => setMenu(!isMenu)} />`}
    ${isMenu && html`<div class="menu" onKeyDown=${(event) => event.key === "Escape" && setMenu(false)}>
      <button type="button" onClick=${choose(actions.rename)}>${T.rename}</button>
      <button type="button" onClick=${choose(actions.fork)}>${T.fork}</button>
      ${session.isRunning ? session.isHere && html`<button type="button" onClick=${choose(actions.end)}>${T.closeSession}</button>` : html`<button type="button" class="bad" onClick=${choose(actions.trash)}>${T.trash}</button>`}
    </div>`}
  </li>`;
}
