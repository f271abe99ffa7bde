// One session: its bar, the conversation, what is asked, and the input.

import { AT_REST } from "./agent-state.js";
import { IconButton, html, money } from "./ui.js";
import { Transcript } from "./transcript.js";
import { AskCard } from "./ask-card.js";
import { Composer } from "./composer.js";
import { ContextMeter } from "./panels.js";
import { Queue } from "./queue.js";
import { T } from "./strings.js";

const PERMISSION_MODES = ["default", "acceptEdits", "plan", "confined", "bypassPermissions"];

export const isStopped = (store) => store.connection === "stopped" || store.isOver;

// `app` is what the page offers: tell, send, run, runLine, setDraft, resume, showPanel, togglePanels, openMenu, rewind.
export function SessionView({ store, title, isViewing, version, draft, app }) {
  const panels = store.panels;
  const stopped = isStopped(store);
  const state = stopped ? "stopped" : store.isLoaded ? store.state : "no_task";
  const shared = { store, isViewing, tell: app.tell };
  return html`<header class="bar">
      <${IconButton} icon="menu" label=${T.sessions} class="only-narrow" onClick=${app.openMenu} />
      <div class="bar-title"><h1>${title}</h1><p class="small muted">${panels.session?.cwd ?? ""}</p></div>
      <span class=${`state ${state}`} data-state=${state}>${T.states[state]}</span>
      ${store.isLoaded && !stopped && html`<div class="bar-tools">
        <${ContextMeter} context=${panels.context} onClick=${() => app.showPanel("context")} />
        ${!isViewing && html`<${IconButton} icon="back" label=${T.rewind} onClick=${app.rewind} />`}
        <${IconButton} icon="panel" label=${T.details} onClick=${app.togglePanels} />
      </div>`}
    </header>
    ${store.connection !== "open" && !stopped && html`<p class=${`connection ${store.connection}`} role="status">${T.connection[store.connection]}</p>`}
    <${Transcript} key=${store.id} ...${shared} version=${version} onLine=${isViewing ? null : app.onLine} />
    <div class="dock">${stopped ? html`<${Stopped} ...${{ store, isViewing, app }} />` : html`<${Dock} ...${{ shared, state, draft, app }} />`}</div>`;
}

const Stopped = ({ store, isViewing, app }) => html`<div class="ask"><p>${store.isOver ? T.sessionOver : T.connection.stopped}</p>
  <div class="buttons"><button type="button" class="button primary" disabled=${isViewing} onClick=${() => app.resume(store.id)}>${T.resume}</button></div></div>`;

function Dock({ shared, state, draft, app }) {
  const { store, isViewing, tell } = shared;
  const panels = store.panels;
  const ask = store.ask;
  const isAtRest = ask !== null && AT_REST.includes(ask.ask);
  const act = (command) => () => app.send(command).catch((problem) => tell(problem.message));
  return html`
    ${panels.retry && !isViewing && html`<div class="buttons"><button type="button" class="button" onClick=${act({ type: "retryNow" })}>${T.retryNow}</button></div>`}
    ${ask && !isAtRest && html`<${AskCard} key=${ask.ts} row=${ask} more=${(panels.asks?.length ?? 1) - 1} ...${{ isViewing, tell }} send=${app.send} words=${draft} clearWords=${() => app.setDraft("")} hasKeys />`}
    ${isAtRest && !isViewing && html`<div class="buttons rest">${[ask.controls?.primary, ask.controls?.secondary].filter(Boolean).map((button) => html`<button type="button" class="button" onClick=${act({ type: "clearTask" })}>${button.text}</button>`)}</div>`}
    <${Queue} queue=${panels.queue} send=${app.send} ...${{ isViewing, tell }} />
    <${Composer} key=${store.id} ...${shared} ask=${ask} state=${state} draft=${draft} setDraft=${app.setDraft} run=${app.run} />
    ${store.isLoaded && html`<${Options} ...${{ store, isViewing, app }} />`}`;
}

// How the session works: what may run, mode, model, effort, and what it has cost.
function Options({ store, isViewing, app }) {
  const { session = {}, usage } = store.panels;
  const modes = PERMISSION_MODES.filter((mode) => mode !== "confined" || session.canConfine || session.permissionMode === mode);
  const setMode = async (event) => {
    const select = event.target;
    try {
      await app.send({ type: "permissionMode", permissionMode: select.value });
    } catch (problem) {
      select.value = store.panels.session?.permissionMode;
      app.tell(problem.message);
    }
  };
  const choice = (line, label, text) => html`<button type="button" class="small-select" disabled=${isViewing} title=${label} aria-label=${`${label}: ${text}`} onClick=${() => app.runLine(line)}>${text}</button>`;
  return html`<div class="options" role="group" aria-label=${T.options}>
    <select class="small-select" aria-label=${T.permissionMode} title=${T.permissionMode} disabled=${isViewing} value=${session.permissionMode} onChange=${setMode}>${modes.map((mode) => html`<option value=${mode}>${T.modes[mode]}</option>`)}</select>
    ${choice("/mode", T.mode, session.mode)}
    ${choice("/model", T.model, session.model)}
    ${choice("/effort", T.effortOfModel, T.effort)}
    <span class="small muted cost" title=${T.cost}>${money(usage?.totalCost || null)}</span>
  </div>`;
}
