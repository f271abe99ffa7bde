// What a slash command gave back, and what can be done from there: choices, and the other verbs of the command.

import { Dialog, html, useEffect, useState } from "./ui.js";
import { View } from "./views.js";
import { Item } from "./rows.js";
import { T } from "./strings.js";

const IN_DIALOG = ["shown", "diff", "choice", "rewind", "rows", "commands", "condensePreview", "context", "agents"];
export const isForDialog = (outcome) => IN_DIALOG.includes(outcome.kind);

// `send` sends a line and returns its outcome; `elsewhere` gets what is not for a dialog.
export function CommandDialog({ line, outcome, onClose, send, elsewhere, onLine, tell, fill }) {
  const [pages, setPages] = useState([{ line, outcome }]);
  const [verbs, setVerbs] = useState([]);
  const page = pages.at(-1);
  const [name] = page.line.slice(1).split(/\s/);
  useEffect(() => {
    send({ type: "slashCommands" }).then((receipt) => setVerbs(receipt.outcome?.commands ?? []), () => {});
  }, []);
  const act = async (next) => {
    if (next.endsWith(" ")) return fill(next);
    try {
      const found = (await send({ type: "slashCommand", line: next })).outcome;
      if (!found) return onClose();
      if (isForDialog(found)) return setPages([...pages, { line: next, outcome: found }]);
      onClose();
      return elsewhere(found, next);
    } catch (problem) {
      return tell(problem.message);
    }
  };
  const back = async () => {
    const before = pages.at(-2);
    // What was there may have been changed by what was done since.
    const fresh = await send({ type: "slashCommand", line: before.line }).then((receipt) => receipt.outcome, () => null);
    setPages([...pages.slice(0, -2), { line: before.line, outcome: fresh && isForDialog(fresh) ? fresh : before.outcome }]);
  };
  const family = verbs.find((each) => each.name === name || each.aliases?.includes(name));
  const isRoot = page.outcome.kind !== "choice" && page.line.trim() === `/${name}`;
  return html`<${Dialog} title=${titleOf(page)} onClose=${onClose} wide=${page.outcome.kind !== "choice"}>
    ${pages.length > 1 && html`<p><button type="button" class="link" onClick=${back}>← ${T.back}</button></p>`}
    <${Body} outcome=${page.outcome} act=${act} onLine=${onLine} />
    ${isRoot && family?.subcommands?.length > 0 && html`<${Verbs} family=${family} act=${act} />`}
  </${Dialog}>`;
}

const titleOf = ({ line, outcome }) => {
  if (outcome.kind === "choice") return outcome.title;
  return T.tools[line.slice(1).trim()] ?? line;
};

function Body({ outcome, act, onLine }) {
  switch (outcome.kind) {
    case "shown":
    case "diff":
    case "agents":
      return html`<${View} view=${outcome.view} onLine=${onLine} isWhole />`;
    case "choice":
      return html`<ul class="choices">${outcome.options.map((option) => html`<li><button type="button" class=${option.isCurrent ? "choice current" : "choice"} aria-current=${option.isCurrent ? "true" : undefined} onClick=${() => act(option.line)}><span>${option.label}</span>${option.detail && html`<span class="muted small">${option.detail}</span>`}</button></li>`)}</ul>`;
    case "rewind":
      return html`<${View} view=${outcome.result.view} />${outcome.line && !outcome.isDone && html`<div class="buttons"><button type="button" class="button primary" onClick=${() => act(outcome.line)}>${T.restore}</button></div>`}${outcome.isDone && html`<p>${T.rewound}</p>`}`;
    case "rows":
      return html`<div>${outcome.rows.map((row) => html`<${Item} key=${row.ts} row=${row} />`)}</div>`;
    case "commands":
      return html`<ul class="choices">${outcome.commands.map((each) => html`<li><button type="button" class="choice" onClick=${() => act(each.argumentHint || each.subcommands?.length ? `/${each.name} ` : `/${each.name}`)}><code>/${each.name} ${each.argumentHint ?? ""}</code><span class="muted small">${each.description}</span></button></li>`)}</ul>`;
    default:
      return html`<${Entries} entries=${(outcome.update ?? outcome.preview).entries ?? []} />`;
  }
}

// What else a command can do, each with a place for its arguments.
function Verbs({ family, act }) {
  return html`<h3>${T.whatElse}</h3><ul class="verbs">${family.subcommands.map((verb) => html`<${Verb} key=${verb.name} line=${`/${family.name} ${verb.name}`} ...${{ verb, act }} />`)}</ul>`;
}

function Verb({ line, verb, act }) {
  const [words, setWords] = useState("");
  const run = (event) => {
    event.preventDefault();
    act(`${line} ${words}`.trim());
  };
  return html`<li><form onSubmit=${run}><p><code>${verb.name}</code> <span class="small muted">${verb.description}</span></p>
    <div class="inline-form">${verb.argumentHint && html`<input aria-label=${`${line}: ${verb.argumentHint}`} placeholder=${verb.argumentHint} value=${words} required=${!verb.argumentHint.startsWith("[")} onInput=${(event) => setWords(event.target.value)} spellcheck="false" autocapitalize="off" />`}
      <button type="submit" class="button small" aria-label=${`${T.run} ${line}`}>${T.run}</button></div></form></li>`;
}

function Entries({ entries }) {
  const most = Math.max(1, ...entries.map((entry) => entry.tokens));
  return html`<ul class="ledger">${entries.map((entry) => html`<li><span class="ledger-title">${entry.title}</span><span class="muted small">${entry.tokens.toLocaleString("en")} ${T.fates[entry.fate] ?? ""}</span><progress max=${most} value=${entry.tokens} aria-label=${entry.title}></progress></li>`)}</ul>`;
}
