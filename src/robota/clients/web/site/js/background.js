// What works beside the conversation: processes and agents as a tree, with their output and conversations.

import { Component, html, money, useState } from "./ui.js";
import { Item } from "./rows.js";
import { Folding, View } from "./views.js";
import { itemsOf } from "./session-store.js";
import { T } from "./strings.js";

const LIVE_MS = 2_000;
const ENDED = ["completed", "failed", "cancelled"];

export function Background({ store, tell, isViewing }) {
  const tasks = store.panels.background ?? [];
  if (!tasks.length) return html`<p class="muted">${T.nothingRuns}</p>`;
  return html`<${Tree} tasks=${tasks} parent=${null} ...${{ store, tell, isViewing }} />`;
}

// The work of one agent, or of the conversation; whatever belongs to no agent that is listed is there, too.
function Tree({ tasks, parent, ...rest }) {
  const agents = new Set(tasks.map((task) => task.taskId).filter(Boolean));
  const own = tasks.filter((task) => (agents.has(task.parentTaskId) ? task.parentTaskId === parent : parent === null));
  return own.length > 0 && html`<ul class="tree">${own.map((task) => html`<${Work} key=${task.id} ...${{ task, tasks, ...rest }} />`)}</ul>`;
}

function Work({ task, tasks, store, tell, isViewing }) {
  const [isShown, setShown] = useState(false);
  const isAgent = task.kind === "agent";
  const isEnded = ENDED.includes(task.status);
  const run = (verb) => () => store.send({ type: "slashCommand", line: `/background ${verb} ${task.id}` }).catch((problem) => tell(problem.message));
  const action = store.panels.others?.[task.taskId]?.action;
  const figures = [task.tokens > 0 && T.tokens(task.tokens), money(task.cost || null), task.limit].filter(Boolean);
  return html`<li>
    <div class="tree-head"><span class=${`state-dot ${task.status}`} aria-hidden="true"></span><span class="chip">${isAgent ? task.agentType ?? T.agent : T.process}</span>
      <span class="small muted">${T.statuses[task.status] ?? task.status}${task.exitCode != null ? ` (${task.exitCode})` : ""}</span></div>
    <p class=${isAgent ? "words small" : "words code"}>${task.label || task.command}</p>
    ${action && !isEnded && html`<p class="small muted">${action}</p>`}
    ${figures.length > 0 && html`<p class="small muted">${figures.join(" · ")}</p>`}
    ${task.preview && !isShown && html`<${Folding} text=${task.preview} class="plain muted" />`}
    <div class="tree-tools">
      ${(isAgent ? task.taskId : !isViewing) && html`<button type="button" class="link" aria-expanded=${isShown} onClick=${() => setShown(!isShown)}>${isShown ? T.hide : isAgent ? T.conversation : T.output}</button>`}
      ${!isViewing && !isEnded && html`<button type="button" class="link bad" onClick=${run("stop")}>${T.stop}</button>`}
      ${!isViewing && isEnded && html`<button type="button" class="link" onClick=${run("close")}>${T.removeFromList}</button>`}
    </div>
    ${isShown && (isAgent ? html`<${AgentConversation} ...${{ store, tell }} taskId=${task.taskId} />` : html`<${Output} ...${{ store, tell, task }} isLive=${!isEnded} />`)}
    ${isShown && isAgent && !isEnded && !isViewing && html`<${Message} ...${{ store, tell }} taskId=${task.taskId} />`}
    <${Tree} tasks=${tasks} parent=${task.taskId ?? task.id} ...${{ store, tell, isViewing }} />
  </li>`;
}

// Asks again and again while it is shown.
class Live extends Component {
  componentDidMount() {
    this.load();
    this.timer = setInterval(() => this.load(), LIVE_MS);
  }

  componentWillUnmount() {
    clearInterval(this.timer);
    this.isGone = true;
  }

  async load() {
    try {
      const found = await this.fetch();
      if (found && !this.isGone) this.setState({ found });
    } catch (problem) {
      clearInterval(this.timer);
      this.props.tell(problem.message);
    }
  }
}

class AgentConversation extends Live {
  fetch() {
    return this.props.store.request({ type: "olderRows", taskId: this.props.taskId, limit: 60 });
  }

  render(_, { found }) {
    if (!found) return html`<p class="muted small">${T.connection.connecting}</p>`;
    const store = { rows: new Map(found.rows.map((row) => [row.ts, row])), calls: new Map((found.calls ?? []).map((call) => [call.callId, call])) };
    return html`<div class="agent-transcript" tabindex="0" role="log" aria-label=${T.conversation}>${itemsOf(store).map((item) => html`<${Item} key=${item.key} ...${item} />`)}</div>`;
  }
}

class Output extends Live {
  async fetch() {
    const { outcome } = await this.props.store.send({ type: "slashCommand", line: `/background read ${this.props.task.id}` });
    if (!this.props.isLive) clearInterval(this.timer);
    return outcome;
  }

  render(_, { found }) {
    return found?.view ? html`<div class="agent-transcript"><${View} view=${found.view} /></div>` : html`<p class="muted small">${T.connection.connecting}</p>`;
  }
}

function Message({ store, tell, taskId }) {
  const [text, setText] = useState("");
  const send = (event) => {
    event.preventDefault();
    if (!text.trim()) return;
    store.send({ type: "queueMessage", text: text.trim(), taskId }).then(() => setText(""), (problem) => tell(problem.message));
  };
  return html`<form class="inline-form" onSubmit=${send}><input aria-label=${T.toAgent} placeholder=${T.toAgent} value=${text} onInput=${(event) => setText(event.target.value)} /><button type="submit" class="button small">${T.send}</button></form>`;
}
