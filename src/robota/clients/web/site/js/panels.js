// What stands beside the conversation: plan, context, changed files, background work.

import { IconButton, Component, html, money, useEffect, useState } from "./ui.js";
import { Diff, Todos } from "./views.js";
import { Item, questionOf } from "./rows.js";
import { itemsOf } from "./session-store.js";
import { T } from "./strings.js";

const TABS = ["plan", "context", "changes", "background"];
const LIVE_MS = 2_000;

export function Panels({ store, onClose, fail, run, isViewing, onLine, version }) {
  const [tab, setTab] = useState("plan");
  const panels = store.panels;
  const counts = { plan: panels.todos?.length, background: panels.background?.length };
  return html`<aside class="panels" aria-label=${T.details}>
    <header><div role="tablist" class="tabs">${TABS.map((name) => html`<button type="button" role="tab" id=${`tab-${name}`} aria-selected=${tab === name} aria-controls="tab-panel" onClick=${() => setTab(name)}>${T[name]}${counts[name] > 0 && html` <span class="count">${counts[name]}</span>`}</button>`)}</div>
      <${IconButton} icon="close" label=${T.close} onClick=${onClose} /></header>
    <div class="panel-body" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${tab}`} tabindex="0">
      ${tab === "plan" && (panels.todos?.length ? html`<${Todos} items=${panels.todos} />` : html`<p class="muted">${T.noPlan}</p>`)}
      ${tab === "context" && html`<${Context} ...${{ store, run, fail, isViewing }} />`}
      ${tab === "changes" && html`<${Changes} key=${store.id} ...${{ store, fail, run, isViewing, onLine }} />`}
      ${tab === "background" && html`<${Background} ...${{ store, fail, version }} />`}
    </div>
  </aside>`;
}

export function ContextMeter({ context, onClick }) {
  if (!context?.maxTokens) return null;
  const share = Math.min(1, context.usedTokens / context.maxTokens);
  return html`<button type="button" class="meter" title=${`${T.context}: ${T.tokens(context.usedTokens)}`} aria-label=${`${T.context} ${Math.round(share * 100)} %`} onClick=${onClick}>
    <svg viewBox="0 0 36 36" aria-hidden="true"><circle cx="18" cy="18" r="15" /><circle class=${share > 0.8 ? "used much" : "used"} cx="18" cy="18" r="15" pathLength="100" stroke-dasharray=${`${share * 100} 100`} /></svg><span>${Math.round(share * 100)}%</span></button>`;
}

function Context({ store, run, fail, isViewing }) {
  const context = store.panels.context ?? {};
  useEffect(() => {
    if (!isViewing) store.send({ type: "contextRequest" }).catch((problem) => fail(problem.message));
  }, [store.id]);
  const entries = [...(context.entries ?? [])].sort((one, other) => other.tokens - one.tokens);
  const most = entries[0]?.tokens || 1;
  const usage = store.panels.usage ?? {};
  return html`<div>
    <p><strong>${T.tokens(context.usedTokens ?? 0)}</strong>${context.maxTokens && html` <span class="muted">of ${context.maxTokens.toLocaleString("en")}</span>`}</p>
    <dl class="facts"><dt>${T.cost}</dt><dd>${usage.totalCost === null ? "?" : money(usage.totalCost ?? 0)}</dd>
      <dt>Input</dt><dd>${(usage.totalTokensIn ?? 0).toLocaleString("en")}</dd><dt>Output</dt><dd>${(usage.totalTokensOut ?? 0).toLocaleString("en")}</dd>
      ${context.cachedTokens > 0 && html`<dt>Cached</dt><dd>${context.cachedTokens.toLocaleString("en")}</dd>`}</dl>
    <ul class="ledger">${entries.slice(0, 60).map((entry) => html`<li><span class="ledger-title">${entry.title}</span><span class="muted small">${entry.tokens.toLocaleString("en")}</span><progress class=${entry.kind} max=${most} value=${entry.tokens} aria-label=${entry.title}></progress></li>`)}</ul>
    ${!isViewing && html`<button type="button" class="button" onClick=${() => run({ type: "condenseTaskContextRequest" }).catch((problem) => fail(problem.message))}>${T.condense}</button>`}
  </div>`;
}

function Changes({ store, fail, run, isViewing, onLine }) {
  const [view, setView] = useState(null);
  const load = () => store.request({ type: "rewindDiff" }).then((diff) => setView(diff ?? { files: [] }), (problem) => { setView({ files: [] }); fail(problem.message); });
  useEffect(() => { load(); }, [store.id]);
  const restore = async (path) => {
    try {
      const { points } = await store.request({ type: "rewindList" });
      const first = points.find((point) => point.isLive !== false && point.files?.includes(path));
      if (!first) return fail(T.noPoints);
      await store.request({ type: "rewind", number: first.number, only: [path], scope: "files" });
      load();
    } catch (problem) {
      fail(problem.message);
    }
  };
  if (!view) return html`<p class="muted">${T.connection.connecting}</p>`;
  if (!view.files?.length) return html`<p class="muted">${T.noChanges}</p>`;
  return html`<div>${view.files.map((file) => html`<${Diff} key=${file.path} view=${file} onLine=${onLine} isOpen=${view.files.length < 6} action=${!isViewing && html`<button type="button" class="link" onClick=${(event) => { event.preventDefault(); restore(file.path); }}>${T.restoreFile}</button>`} />`)}</div>`;
}

function Background({ store, fail }) {
  const [shown, setShown] = useState(null);
  const tasks = store.panels.background ?? [];
  if (!tasks.length) return html`<p class="muted">${T.nothingRuns}</p>`;
  return html`<ul class="tree">${tasks.map((task) => html`<li key=${task.id}>
    <div class="tree-head"><span class=${`state-dot ${task.status}`} role="img" aria-label=${task.status}></span><span class="chip">${task.kind === "agent" ? T.agent : T.process}</span> <span class="small muted">${task.status}${task.exitCode != null ? ` (${task.exitCode})` : ""}</span></div>
    <pre class="plain">${task.command}</pre>${store.panels.others?.[task.taskId]?.action && html`<p class="small">${store.panels.others[task.taskId].action}</p>`}
    ${task.preview && html`<pre class="plain muted">${task.preview}</pre>`}
    ${task.taskId && html`<button type="button" class="link" onClick=${() => setShown(shown === task.taskId ? null : task.taskId)}>${shown === task.taskId ? T.close : T.details}</button>`}
    ${shown === task.taskId && html`<${AgentTranscript} store=${store} taskId=${task.taskId} fail=${fail} />`}
  </li>`)}</ul>`;
}

// The conversation of an agent, as it grows.
class AgentTranscript extends Component {
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
      const page = await this.props.store.request({ type: "olderRows", taskId: this.props.taskId, limit: 60 });
      if (page && !this.isGone) this.setState({ page });
    } catch (problem) {
      clearInterval(this.timer);
      this.props.fail(problem.message);
    }
  }

  render(_, { page }) {
    if (!page) return html`<p class="muted small">${T.connection.connecting}</p>`;
    const store = { rows: new Map(page.rows.map((row) => [row.ts, row])), calls: new Map((page.calls ?? []).map((call) => [call.callId, call])) };
    return html`<div class="agent-transcript">${itemsOf(store).map((item) => html`<${Item} key=${item.key} ...${item} />`)}</div>`;
  }
}

export function Queue({ queue, send, fail, isViewing, edit }) {
  if (!queue?.length) return null;
  const act = (command) => send(command).catch((problem) => fail(problem.message));
  return html`<ul class="queue" aria-label=${T.queue}>${queue.map((each) => html`<li key=${each.id}><span class="chip">${T.queue}</span><span class="queued">${each.text}</span>
    ${!isViewing && html`<button type="button" class="link" onClick=${() => { edit(each.text); act({ type: "removeQueuedMessage", id: each.id }); }}>${T.edit.split(" ")[0]}</button>
    <${IconButton} icon="close" label=${T.dismiss} onClick=${() => act({ type: "removeQueuedMessage", id: each.id })} />`}</li>`)}</ul>`;
}

export const titleOfAsk = (row) => (row.ask === "followup" ? questionOf(row) : row.asked?.title ?? row.asked?.message ?? row.text ?? "");
