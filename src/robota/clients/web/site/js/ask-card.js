// What the agent asks now: an approval with everything that is needed to decide, or a question.

import { ServerHtml, html, useEffect, useRef, useState } from "./ui.js";
import { View } from "./views.js";
import { questionOf } from "./rows.js";
import { T } from "./strings.js";

const SCOPES = ["session", "project", "user"];

// `words` are what the user has written; with `setWords` the card has an input of its own for them.
export function AskCard({ row, more, isViewing, send, words, setWords, clearWords, tell, hasKeys }) {
  const asked = row.asked ?? {};
  const hunks = asked.kind === "approval" && asked.choosableHunks > 1 ? asked.choosableHunks : 0;
  const [chosen, setChosen] = useState(() => new Set(Array.from({ length: hunks }, (_, index) => index)));
  const [edited, setEdited] = useState(null);
  const [offer, setOffer] = useState("");
  const [scope, setScope] = useState("session");
  const [isSent, setSent] = useState(false);
  const input = useRef(document.getElementById("input"));

  const answer = async (value) => {
    setSent(true);
    try {
      await send({ type: "askResponse", ts: row.ts, answer: value });
      clearWords();
    } catch (problem) {
      setSent(false);
      tell(problem.code === "stale_ask" ? T.answeredElsewhere : problem.message);
    }
  };
  const approve = () => {
    if (edited !== null && edited !== asked.editable?.text) return answer({ kind: "approveEdited", edited });
    if (hunks && chosen.size < hunks) return answer({ kind: "approveHunks", hunks: [...chosen].sort((one, other) => one - other) });
    const grant = offer === "" ? {} : { grant: asked.verdict.suggestions[offer].rules, grantScope: scope };
    return answer({ kind: "approve", text: words.trim(), ...grant });
  };
  const press = (button) => {
    switch (button.action) {
      case "yesButtonClicked":
        return approve();
      case "noButtonClicked":
        return answer({ kind: "reject", text: words.trim() });
      case "messageResponse":
        return words.trim() ? answer({ kind: "say", text: words.trim() }) : input.current?.focus();
      case "clearTask":
        return send({ type: "clearTask" }).catch((problem) => tell(problem.message));
      default:
        return send({ type: "terminalOperation", terminalOperation: button.action }).catch((problem) => tell(problem.message));
    }
  };
  const controls = row.controls ?? {};
  const isOff = !controls.areEnabled || isViewing || isSent || (hunks > 0 && chosen.size === 0);
  useKeys(isOff || !hasKeys ? [] : [["y", controls.primary], ["n", controls.secondary]], press, hasKeys && row.ask === "followup" ? asked.suggestions : null, (text) => !isViewing && answer({ kind: "say", text }));

  const choose = (index) => setChosen((before) => {
    const after = new Set(before);
    if (!after.delete(index)) after.add(index);
    return after;
  });
  const label = row.ask === "followup" ? T.question : asked.kind === "approval" ? T.toApproval : T.needsYou;
  return html`<section class=${`ask ${asked.kind ?? ""}`} aria-label=${label} data-ask=${row.ask} data-ts=${row.ts}>
    <div class="ask-scroll">
      <header><strong>${label}</strong>${row.isBeside && html`<span class="chip">${T.beside}</span>`}${more > 0 && html`<span class="chip">${T.more(more)}</span>`}</header>
      <${Subject} ...${{ row, asked, chosen: hunks ? chosen : null, choose, edited, setEdited }} />
    </div>
    ${row.ask === "followup" && html`<div class="chips">${(asked.suggestions ?? []).map((each, index) => html`<button type="button" class="suggestion" disabled=${isViewing || isSent || row.partial} onClick=${() => answer({ kind: "say", text: each.answer })}><kbd aria-hidden="true">${index + 1}</kbd>${each.answer}${each.mode && html` <span class="chip">${each.mode}</span>`}</button>`)}</div>`}
    ${setWords && !isViewing && !controls.isSendingDisabled && html`<form class="inline-form" onSubmit=${(event) => { event.preventDefault(); if (words.trim()) answer({ kind: "say", text: words.trim() }); }}><input ref=${input} aria-label=${asked.kind === "approval" ? T.placeholder.approval : T.placeholder.followup} placeholder=${asked.kind === "approval" ? T.placeholder.approval : T.placeholder.followup} value=${words} onInput=${(event) => setWords(event.target.value)} /></form>`}
    ${!isViewing && (hunks > 0 || asked.editable || asked.verdict?.suggestions?.length > 0) && html`<div class="ask-extras">
      ${hunks > 0 && html`<span class="small muted">${T.hunks(chosen.size, hunks)}</span>`}
      ${asked.editable && html`<button type="button" class="link small" onClick=${() => setEdited(edited === null ? asked.editable.text : null)}>${edited === null ? T.edit : T.keepOriginal}</button>`}
      ${asked.verdict?.suggestions?.length > 0 && html`<${Offers} ...${{ offers: asked.verdict.suggestions, offer, setOffer, scope, setScope }} />`}
    </div>`}
    <div class="buttons">
      ${controls.secondary && html`<button type="button" class="button" disabled=${!controls.areEnabled || isViewing || isSent} onClick=${() => press(controls.secondary)}>${controls.secondary.text}</button>`}
      ${controls.primary && row.ask !== "followup" && html`<button type="button" class="button primary" disabled=${isOff} onClick=${() => press(controls.primary)}>${controls.primary.text}</button>`}
    </div>
  </section>`;
}

function Subject({ row, asked, chosen, choose, edited, setEdited }) {
  if (asked.kind === "approval") {
    // A change is long, so what speaks for asking stands before it; a command is short.
    const isChange = asked.view?.kind === "diff" || asked.view?.kind === "diffs";
    return html`${asked.view?.kind !== "terminal" && html`<p class="ask-title">${asked.title}</p>`}
      ${isChange && html`<${Reasons} verdict=${asked.verdict ?? {}} />`}
      ${edited !== null
        ? html`<textarea class="editor" aria-label=${asked.editable.name} rows=${Math.min(16, edited.split("\n").length + 1)} value=${edited} onInput=${(event) => setEdited(event.target.value)} spellcheck="false"></textarea>`
        : asked.view && html`<${View} view=${asked.view} chosen=${chosen} onChoose=${choose} />`}
      ${!isChange && html`<${Reasons} verdict=${asked.verdict ?? {}} />`}`;
  }
  if (row.ask === "followup") {
    return html`${asked.server && html`<span class="chip">MCP ${asked.server}</span>`}${(asked.blocks ?? []).map((block) => html`<${ServerHtml} class="prose" html=${block} />`)}<p class="ask-title words">${questionOf(row)}</p>`;
  }
  return html`<p class="ask-title words">${asked.message ?? T.limits[asked.limit]?.(asked.count) ?? row.text ?? T.states[row.ask === "resume_task" ? "resumable" : "idle"]}</p>`;
}

function Reasons({ verdict }) {
  const parts = verdict.parts ?? [];
  return html`<div class="reasons small">
    ${(verdict.warnings ?? []).map((text) => html`<p class="warning">${text}</p>`)}
    ${verdict.reason && parts.length < 2 && html`<p>${verdict.reason}${verdict.rule && html` <code>${verdict.rule}</code>`}</p>`}
    ${parts.length > 1 && html`<ul class="parts">${parts.map((part) => html`<li class=${`is-${part.decision}`}><code>${part.text}</code> ${part.reason}</li>`)}</ul>`}
    ${(verdict.changed ?? []).map((view) => html`<${View} view=${view} />`)}
  </div>`;
}

function Offers({ offers, offer, setOffer, scope, setScope }) {
  return html`<div class="offers">
    <label class="small">${T.rule} <select value=${offer} onChange=${(event) => setOffer(event.target.value)}>
      <option value="">${T.once}</option>
      ${offers.map((each, index) => html`<option value=${index}>${each.shown}</option>`)}
    </select></label>
    ${offer !== "" && html`<label class="small"><span class="sr">${T.rule}</span><select value=${scope} onChange=${(event) => setScope(event.target.value)}>
      ${SCOPES.map((name) => html`<option value=${name}>${{ session: T.forSession, project: T.forProject, user: T.forUser }[name]}</option>`)}
    </select></label><p class="small muted">${offers[offer].covers}</p>`}
  </div>`;
}

function useKeys(buttons, press, suggestions, choose) {
  useEffect(() => {
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog, [contenteditable]")) return;
      const found = buttons.find(([key, button]) => button && key === event.key.toLowerCase());
      const suggestion = suggestions?.[Number(event.key) - 1];
      if (!found && !suggestion) return;
      event.preventDefault();
      if (found) press(found[1]);
      else choose(suggestion.answer);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });
}
