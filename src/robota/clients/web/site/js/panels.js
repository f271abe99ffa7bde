// What stands beside the conversation: plan, context, changed files, background work.

import { IconButton, html, money, useEffect, useRef } from "./ui.js";
import { Todos } from "./views.js";
import { Review } from "./review.js";
import { Background } from "./background.js";
import { T } from "./strings.js";

const TABS = ["plan", "context", "changes", "background"];
const MOST_ENTRIES = 60;

export function Panels({ store, tab, setTab, onClose, tell, run, isViewing, onLine, version }) {
  const panels = store.panels;
  const counts = { plan: panels.todos?.filter((item) => item.status !== "completed").length, background: panels.background?.length };
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    setTab(next);
    document.getElementById(`tab-${next}`).focus();
  };
  return html`<aside class="panels" aria-label=${T.details}>
    <header><div role="tablist" class="tabs" aria-label=${T.details} onKeyDown=${onKeyDown}>${TABS.map((name) => html`<button type="button" role="tab" id=${`tab-${name}`} aria-selected=${tab === name} aria-controls="tab-panel" tabindex=${tab === name ? 0 : -1} onClick=${() => setTab(name)}>${T[name]}${counts[name] > 0 && html` <span class="count">${counts[name]}</span>`}</button>`)}</div>
      <${IconButton} icon="close" label=${T.close} onClick=${onClose} /></header>
    <div class="panel-body" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${tab}`} tabindex="0">
      ${tab === "plan" && (panels.todos?.length ? html`<${Todos} items=${panels.todos} />` : html`<p class="muted">${T.noPlan}</p>`)}
      ${tab === "context" && html`<${Context} ...${{ store, run, tell, isViewing }} />`}
      ${tab === "changes" && html`<${Review} key=${store.id} ...${{ store, tell, isViewing, onLine, version }} />`}
      ${tab === "background" && html`<${Background} ...${{ store, tell, isViewing, version }} />`}
    </div>
  </aside>`;
}

export function ContextMeter({ context, onClick }) {
  if (!context?.maxTokens) return null;
  const share = Math.min(1, context.usedTokens / context.maxTokens);
  return html`<button type="button" class="meter" title=${`${T.context}: ${T.tokens(context.usedTokens)}`} aria-label=${`${T.context} ${Math.round(share * 100)} %`} onClick=${onClick}>
    <svg viewBox="0 0 36 36" aria-hidden="true"><circle cx="18" cy="18" r="15" /><circle class=${share > 0.8 ? "used much" : "used"} cx="18" cy="18" r="15" pathLength="100" stroke-dasharray=${`${share * 100} 100`} /></svg><span>${Math.round(share * 100)}%</span></button>`;
}

// All of the context window as one bar, a piece for each kind.
function Picture({ entries, most }) {
  const kinds = new Map();
  for (const entry of entries) kinds.set(entry.kind, (kinds.get(entry.kind) ?? 0) + entry.tokens);
  const listed = [...kinds].sort((one, other) => other[1] - one[1]);
  const used = listed.reduce((sum, [, tokens]) => sum + tokens, 0);
  let at = 0;
  const scale = 100 / Math.max(used, Math.min(most || used, used * 4), 1);
  return html`<figure class="ledger-picture"><svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${listed.map(([kind, tokens]) => `${T.kinds[kind] ?? kind} ${tokens}`).join(", ")}>
      <rect class="free" x="0" y="0" width="100" height="8" />
      ${listed.map(([kind, tokens], index) => {
        const x = at;
        at += tokens * scale;
        return html`<rect class=${`part part-${index % 6}`} x=${x} y="0" width=${tokens * scale} height="8"><title>${T.kinds[kind] ?? kind}</title></rect>`;
      })}</svg>
    <figcaption>${listed.map(([kind, tokens], index) => html`<span><span class=${`swatch part-${index % 6}`}></span>${T.kinds[kind] ?? kind.replaceAll("_", " ")} <span class="muted">${Math.round((100 * tokens) / Math.max(used, 1))}%</span></span>`)}</figcaption></figure>`;
}

function Context({ store, run, tell, isViewing }) {
  const context = store.panels.context ?? {};
  const listed = useRef([]);
  // The entries come only if they are requested, and are those of one moment.
  useEffect(() => {
    store.send({ type: "contextRequest" }).catch((problem) => tell(problem.message));
  }, [store.id, context.usedTokens]);
  if (context.entries?.length) listed.current = context.entries;
  const entries = [...listed.current].sort((one, other) => other.tokens - one.tokens);
  const act = (command) => store.send(command).then(() => store.send({ type: "contextRequest" })).catch((problem) => tell(problem.message));
  const most = entries[0]?.tokens || 1;
  const usage = store.panels.usage ?? {};
  return html`<div>
    <p><strong>${T.tokens(context.usedTokens ?? 0)}</strong>${context.maxTokens && html` <span class="muted">${T.of} ${context.maxTokens.toLocaleString("en")}</span>`}</p>
    ${entries.length > 0 && html`<${Picture} entries=${entries} most=${context.maxTokens} />`}
    <dl class="facts"><dt>${T.cost}</dt><dd>${usage.totalCost === null ? "?" : money(usage.totalCost ?? 0)}</dd>
      <dt>${T.tokensIn}</dt><dd>${(usage.totalTokensIn ?? 0).toLocaleString("en")}</dd><dt>${T.tokensOut}</dt><dd>${(usage.totalTokensOut ?? 0).toLocaleString("en")}</dd>
      ${context.cachedTokens > 0 && html`<dt>${T.tokensCached}</dt><dd>${context.cachedTokens.toLocaleString("en")}</dd>`}</dl>
    <ul class="ledger">${entries.slice(0, MOST_ENTRIES).map((entry) => html`<li><span class="ledger-title" title=${entry.title}>${entry.title}</span><span class="muted small">${entry.tokens.toLocaleString("en")}</span><progress max=${most} value=${entry.tokens} aria-label=${entry.title}></progress>
      ${!isViewing && entry.turn != null && html`<button type="button" class="link small" aria-pressed=${Boolean(entry.isPinned)} onClick=${() => act({ type: "pinTurn", turn: entry.turn, isPinned: !entry.isPinned })}>${entry.isPinned ? T.unpin : T.pin}</button>`}
      ${!isViewing && entry.reductionId && html`<button type="button" class="link small" onClick=${() => act({ type: "restoreContext", id: entry.reductionId })}>${T.undo}</button>`}</li>`)}</ul>
    ${!isViewing && html`<button type="button" class="button" onClick=${() => run({ type: "condenseTaskContextRequest" }).then((receipt) => receipt.isDeferred && tell(T.condensing, "info"), (problem) => tell(problem.message))}>${T.condense}</button>`}
  </div>`;
}
