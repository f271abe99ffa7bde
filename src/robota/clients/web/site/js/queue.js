// Messages that wait for the next request: each can be changed in its place, and removed.

import { IconButton, html, useState } from "./ui.js";
import { T } from "./strings.js";

export function Queue({ queue, send, tell, isViewing }) {
  if (!queue?.length) return null;
  const act = (command) => send(command).catch((problem) => tell(problem.message));
  return html`<ul class="queue" aria-label=${T.queue}>${queue.map((each) => html`<${Queued} key=${each.id} message=${each} ...${{ act, isViewing }} />`)}</ul>`;
}

function Queued({ message, act, isViewing }) {
  const [text, setText] = useState(null);
  const save = (event) => {
    event.preventDefault();
    if (text.trim() && text !== message.text) act({ type: "editQueuedMessage", id: message.id, text: text.trim(), images: message.images ?? [] });
    setText(null);
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      setText(null);
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) save(event);
  };
  if (text !== null) {
    return html`<li><form class="inline-form" onSubmit=${save}><textarea rows=${Math.min(6, text.split("\n").length)} aria-label=${T.queue} value=${text} ref=${(area) => area && document.activeElement !== area && area.focus()} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKeyDown}></textarea>
      <button type="submit" class="button small">${T.save}</button></form></li>`;
  }
  return html`<li><span class="chip">${T.queued}</span><span class="queued">${message.text}</span>
    ${!isViewing && html`<button type="button" class="link" onClick=${() => setText(message.text)}>${T.change}</button>
    <${IconButton} icon="close" label=${T.removeQueued} onClick=${() => act({ type: "removeQueuedMessage", id: message.id })} />`}</li>`;
}
