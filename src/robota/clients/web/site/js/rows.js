// The rows of the conversation, and calls.

import { Component, Icon, IconButton, ServerHtml, duration, html, money } from "./ui.js";
import { Folding, View } from "./views.js";
import { T } from "./strings.js";

const COPIED_MS = 1_500;

// A row or call is drawn again only when it is another one.
export class Item extends Component {
  shouldComponentUpdate(next) {
    return next.row !== this.props.row || next.call !== this.props.call || next.isWaiting !== this.props.isWaiting;
  }

  render({ row, call, isWaiting, onLine }) {
    return call ? html`<${Call} call=${call} isWaiting=${isWaiting} onLine=${onLine} />` : html`<${Row} row=${row} />`;
  }
}

const Prose = ({ row }) =>
  html`<div class=${row.partial ? "prose growing" : "prose"}>${row.text
    ? html`<${Folding} text=${row.text} class="plain" />`
    : (row.blocks ?? []).map((block, index) => html`<${ServerHtml} key=${index} html=${block} />`)}
    ${row.interrupted && html`<p class="small muted">${T.interrupted}</p>`}</div>`;

const Images = ({ images = [] }) =>
  images.length > 0 && html`<div class="images">${images.map((source) => html`<img src=${source} alt="" />`)}</div>`;

// Browsers give the clipboard only to pages that nobody on the way can change.
const CopyAnswer = () => navigator.clipboard && html`<${IconButton} icon="copy" class="copy-answer" label=${T.copy} onClick=${(event) => copied(event.currentTarget)} />`;

async function copied(button) {
  await navigator.clipboard.writeText(button.parentNode.querySelector(".prose").innerText);
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), COPIED_MS);
}

function Row({ row }) {
  switch (row.kind) {
    case "prompt":
      return html`<article class="row prompt" aria-label=${T.you}><div class="bubble">${row.text ?? (row.blocks ?? []).length ? html`<div class="words">${row.text}</div>` : null}<${Images} images=${row.images} /></div></article>`;
    case "answer":
      return html`<article class="row answer" aria-label=${T.product}><${Prose} row=${row} /><${Images} images=${row.images} />${!row.partial && html`<${CopyAnswer} />`}</article>`;
    case "thought":
      return html`<details class="row thought"><summary>${row.partial ? T.thinking : T.thought}${row.partial && html`<span class="dots" aria-hidden="true"></span>`}</summary><${Prose} row=${row} /></details>`;
    case "output":
      return html`<article class="row"><div class="terminal"><${Folding} text=${row.text ?? ""} class="output" /></div></article>`;
    case "error":
      return html`<article class="row error" role="note"><p class="words">${row.text}</p></article>`;
    case "request":
      return html`<${Request} row=${row} />`;
    case "ask":
      return html`<${PastAsk} row=${row} />`;
    default:
      return html`<article class="row note"><span class="chip">${T.says[row.say] ?? (row.say ?? "").replaceAll("_", " ")}</span> ${row.text && html`<${Folding} text=${row.text} class="words" end=${false} />`}</article>`;
  }
}

function Request({ row }) {
  let info = {};
  try {
    info = JSON.parse(row.text ?? "{}") ?? {};
  } catch {
    info = {};
  }
  const parts = [info.tokensIn > 0 && `↑ ${info.tokensIn.toLocaleString("en")}`, info.tokensOut > 0 && `↓ ${info.tokensOut.toLocaleString("en")}`, info.cost > 0 && money(info.cost)].filter(Boolean);
  const failed = info.cancelReason || info.streamingFailedMessage;
  if (!parts.length && !failed) return null;
  return html`<p class="row request">${parts.join("  ")}${failed && html` <span class="bad">${info.streamingFailedMessage ?? info.cancelReason}</span>`}</p>`;
}

const ASKS = {
  followup: T.question,
  completion_result: "",
  resume_task: T.states.resumable,
  resume_completed_task: "",
  command_output: "",
};

function PastAsk({ row }) {
  const question = row.ask === "followup" ? questionOf(row) : null;
  if (question) return html`<article class="row asked"><p class="words">${question}</p></article>`;
  const name = ASKS[row.ask] ?? T.asks[row.ask] ?? (row.ask ?? "").replaceAll("_", " ");
  const isTold = row.ask === "api_req_failed" || row.ask === "mistake_limit_reached";
  if (!name && !isTold) return null;
  return html`<article class=${isTold ? "row error" : "row note"}><span class="chip">${name}</span>${isTold && html`<p class="words">${row.text}</p>`}</article>`;
}

export function questionOf(row) {
  if (row.asked?.question) return row.asked.question;
  try {
    return JSON.parse(row.text).question ?? row.text;
  } catch {
    return row.text;
  }
}

export const titleOfAsk = (row) => (row.ask === "followup" ? questionOf(row) : row.asked?.title ?? row.asked?.message ?? row.text ?? "");

const SIGNS = { success: "check", error: "cross", denied: "cross", interrupted: "cross" };

// The title of a command says what ran already.
function viewOf(call) {
  const view = call.view;
  if (view?.kind !== "terminal" || !call.title.includes(view.command)) return view;
  const isQuiet = !view.output && !view.signal && !view.timedOut && !view.exitCode;
  return isQuiet ? null : { ...view, command: "" };
}

function Call({ call, isWaiting, onLine }) {
  const view = viewOf(call);
  const isRunning = call.status === "running";
  const isOpen = call.view?.kind === "diff" || call.view?.kind === "diffs" || call.view?.kind === "todos" || call.view?.kind === "terminal" || isRunning || call.status === "error";
  const content = view ? html`<${View} view=${view} onLine=${onLine} />` : call.output && html`<div class="terminal"><${Folding} text=${call.output} class="output" /></div>`;
  const head = html`<span class=${`sign ${call.status}`}>${isRunning && isWaiting ? html`<span class="state-dot waiting_for_input" role="img" aria-label=${T.states.waiting_for_input}></span>` : isRunning ? html`<span class="spinner" role="img" aria-label=${T.states.running}></span>` : html`<${Icon} name=${SIGNS[call.status] ?? "check"} />`}</span>
    <span class="title">${call.title}</span>
    ${call.status !== "success" && !isRunning && html`<span class="chip bad">${call.status}</span>`}
    <span class="time">${duration(call.durationMs)}</span>`;
  const reason = call.reason && call.status !== "success" && html`<p class="reason small">${call.reason}</p>`;
  if (!content) return html`<article class="row call"><div class="call-head">${head}</div>${reason}</article>`;
  return html`<details class="row call" open=${isOpen}><summary class="call-head">${head}</summary>${reason}<div class="call-body">${content}</div></details>`;
}
