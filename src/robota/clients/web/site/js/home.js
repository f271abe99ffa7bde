// Where no session is open: everything that waits for the user, to be answered here, and the way to a new session.

import { Icon, IconButton, ago, html, useState } from "./ui.js";
import { AskCard } from "./ask-card.js";
import { sessions } from "./api.js";
import { AT_REST } from "./agent-state.js";
import { T } from "./strings.js";

const RECENT = 6;

// What needs a decision, and not only the next prompt.
export const needing = (overview) => overview.asks.filter((each) => !AT_REST.includes(each.row.ask));

export function Home({ overview, isViewing, onMenu, onNew, onOpen, tell }) {
  const asks = needing(overview);
  return html`<header class="bar only-narrow"><${IconButton} icon="menu" label=${T.sessions} onClick=${onMenu} /><div class="bar-title"><h1>${T.product}</h1></div></header>
    <div class=${asks.length ? "home" : "home empty"}>
      <div class="home-head"><h1>${asks.length ? T.inbox(asks.length) : T.product}</h1>
        ${!asks.length && html`<p class="muted">${overview.sessions.length ? T.nothingWaits : T.begin}</p>`}
        ${!isViewing && html`<button type="button" class="button primary" onClick=${onNew}><${Icon} name="plus" /> ${T.newSession}</button>`}</div>
      ${asks.map((each) => html`<${Waiting} key=${`${each.session.id}:${each.row.ts}`} ...${{ each, isViewing, onOpen, tell }} />`)}
      <${Recent} sessions=${overview.sessions} onOpen=${onOpen} />
    </div>`;
}

// On a phone, where the list of all sessions is folded away.
function Recent({ sessions, onOpen }) {
  if (!sessions.length) return null;
  const open = (id) => (event) => {
    event.preventDefault();
    onOpen(id);
  };
  return html`<section class="recent"><h2 class="small muted">${T.recent}</h2><ul>${sessions.slice(0, RECENT).map((each) => html`<li key=${each.id}><a href=${`/s/${encodeURIComponent(each.id)}`} onClick=${open(each.id)}><span class=${`state-dot ${each.isRunning ? each.state ?? "running" : "stored"}`} aria-hidden="true"></span><span class="entry-title">${each.name || each.title || each.id}</span><span class="small muted">${ago(each.modifiedMs)}</span></a></li>`)}</ul></section>`;
}

function Waiting({ each, isViewing, onOpen, tell }) {
  const [words, setWords] = useState("");
  const { session, row } = each;
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(session.id);
  };
  return html`<article class="waiting">
    <p class="waiting-head"><a href=${`/s/${encodeURIComponent(session.id)}`} onClick=${open}>${session.name || session.title || session.id}</a>
      <span class="small muted">${session.cwd.split("/").at(-1)} · ${ago(session.modifiedMs)}</span></p>
    ${session.isRunning
      ? html`<${AskCard} row=${row} more=${0} ...${{ isViewing, tell, words }} send=${(command) => sessions.command(session.id, command)} clearWords=${() => setWords("")} setWords=${setWords} />`
      : html`<div class="ask"><p class="words">${row.asked?.title ?? row.asked?.question ?? row.text ?? T.states.resumable}</p><div class="buttons"><button type="button" class="button" onClick=${open}>${T.open}</button></div></div>`}
  </article>`;
}
