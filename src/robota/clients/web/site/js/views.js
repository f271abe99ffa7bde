// Results and changes: text, fields, tables, terminal output, todo lists and diffs.

import { ServerHtml, html, useState } from "./ui.js";
import { T } from "./strings.js";

const FOLDED_LINES = 14;

export function Folding({ text, class: name = "", end = true, isWhole = false }) {
  const [isOpen, setOpen] = useState(isWhole);
  const lines = text.replace(/\n$/, "").split("\n");
  const left = lines.length - FOLDED_LINES;
  if (isOpen || left <= 2) return html`<pre class=${name} tabindex="0">${text}</pre>`;
  const shown = end ? lines.slice(-FOLDED_LINES) : lines.slice(0, FOLDED_LINES);
  const button = html`<button type="button" class="link fold" onClick=${() => setOpen(true)}>${T.lines(left)}</button>`;
  return html`<div>${end && button}<pre class=${name} tabindex="0">${shown.join("\n")}</pre>${!end && button}</div>`;
}

export function Terminal({ view }) {
  const failed = view.signal || (view.exitCode != null && view.exitCode !== 0);
  return html`<div class="terminal">
    ${view.command && html`<pre class="command"><span class="prompt-sign" aria-hidden="true">$ </span>${view.command}</pre>`}
    ${view.output && html`<${Folding} text=${view.output} class="output" />`}
    ${(failed || view.timedOut) && html`<p class="bad small">${view.timedOut ? T.timedOut : view.signal ? T.signal(view.signal) : T.exitCode(view.exitCode)}</p>`}
  </div>`;
}

export function Todos({ items }) {
  return html`<ul class="todos">${items.map(
    (item) => html`<li class=${item.status}><span class="mark" role="img" aria-label=${item.status.replace("_", " ")}></span>${item.content}</li>`,
  )}</ul>`;
}

// `chosen` is a set of hunks that are to be applied; without it, the diff is only read. `onTakeBack` gets a hunk, or
// nothing for the whole file.
export function Diff({ view, chosen, onChoose, onLine, onTakeBack, isOpen = true }) {
  let number = 0;
  const diff = html`<details class="diff" open=${isOpen}>
    <summary><span class="path">${view.path}</span>
      ${view.isNew && html`<span class="chip">${T.isNew}</span>`}
      <span class="added">+${view.added}</span> <span class="removed">−${view.removed}</span></summary>
    ${(view.hunks ?? []).map((hunk) => {
      const index = number++;
      return html`<div class="hunk">
        <div class="hunk-head">${chosen
          ? html`<label><input type="checkbox" checked=${chosen.has(index)} onChange=${() => onChoose(index)} /> ${hunk.head}</label>`
          : hunk.head}${onTakeBack && view.hunks.length > 1 && html`<button type="button" class="link" aria-label=${`${T.takeBack} ${hunk.head}`} onClick=${() => onTakeBack(index)}>${T.takeBack}</button>`}</div>
        <${HunkLines} hunk=${hunk} onLine=${onLine} path=${view.path} />
        ${hunk.leftOut > 0 && html`<p class="small muted pad">${T.lines(hunk.leftOut)}</p>`}
      </div>`;
    })}
  </details>`;
  // Beside the summary, which is a button itself.
  return onTakeBack
    ? html`<div class="diff-frame">${diff}<button type="button" class="link small" aria-label=${`${view.isNew ? T.removeFile : T.restoreFile}: ${view.path}`} onClick=${() => onTakeBack()}>${view.isNew ? T.removeFile : T.restoreFile}</button></div>`
    : diff;
}

const LINE = { "+": "line add", "-": "line remove", " ": "line" };

function HunkLines({ hunk, onLine, path }) {
  return html`<div class="code" tabindex="0" role="group" aria-label=${`${path} ${hunk.head}`}>${hunk.lines.map(
    ([sign, before, after, text]) => html`<div class=${LINE[sign]}>
      ${onLine && after != null
        ? html`<button type="button" class="number" title=${T.whyLine} onClick=${() => onLine(path, after)}>${after}</button>`
        : html`<span class="number">${after ?? before}</span>`}
      <span class="sign">${sign}</span><${ServerHtml} tag="span" class="text" html=${text} /></div>`,
  )}</div>`;
}

export function View({ view, chosen, onChoose, onLine, isWhole = false }) {
  switch (view.kind) {
    case "text":
      return view.text ? html`<${Folding} text=${view.text} class="plain" end=${false} isWhole=${isWhole} />` : null;
    case "prose":
      return html`<div class="prose">${view.blocks.map((block) => html`<${ServerHtml} html=${block} />`)}</div>`;
    case "diff":
      return html`<${Diff} ...${{ view, chosen, onChoose, onLine }} />`;
    case "diffs":
      return html`<div>${view.files.map((file) => html`<${Diff} view=${file} onLine=${onLine} />`)}</div>`;
    case "terminal":
      return html`<${Terminal} view=${view} />`;
    case "todos":
      return html`<${Todos} items=${view.items} />`;
    case "table":
      return html`<${Table} view=${view} />`;
    case "fields":
      return html`<div class="fields">${view.heading && html`<p class="heading">${view.heading}</p>`}
        ${view.fields.map((field) => html`<div><p class="field-name">${field.name}</p><${Folding} text=${field.text} class="plain" end=${false} /></div>`)}</div>`;
    case "parts":
      return html`<div>${view.parts.map((part) => html`<${View} view=${part} isWhole=${isWhole} />`)}</div>`;
    default:
      return html`<pre class="plain">${JSON.stringify(view, null, 2)}</pre>`;
  }
}

function Table({ view }) {
  return html`<div class="table-scroll" tabindex="0"><table>
    ${view.columns?.length > 0 && html`<thead><tr>${view.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`}
    <tbody>${view.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}
