// All changes of the session: read line by line, and taken back by file or by single change.

import { Dialog, html, useEffect, useState } from "./ui.js";
import { Diff, View } from "./views.js";
import { T } from "./strings.js";

const FEW = 6;

export function Review({ store, tell, isViewing, onLine, version }) {
  const [view, setView] = useState(null);
  const [order, setOrder] = useState(null);
  const load = () => store.request({ type: "rewindDiff" }).then((diff) => setView(diff ?? { files: [] }), (problem) => { setView({ files: [] }); tell(problem.message); });
  // What has ended since may have changed something.
  const ended = [...store.calls.values()].filter((call) => call.status !== "running").length;
  useEffect(() => { load(); }, [store.id, ended]);
  if (!view) return html`<p class="muted">${T.connection.connecting}</p>`;
  if (!view.files?.length) return html`<p class="muted">${T.noChanges}</p>`;
  const added = view.files.reduce((sum, file) => sum + file.added, 0);
  const removed = view.files.reduce((sum, file) => sum + file.removed, 0);
  const takeBack = (file) => (hunk) => setOrder({ type: "rewind", only: [file.name], scope: "files", ...(hunk !== undefined && { hunks: [hunk] }) });
  return html`<div>
    <p class="small muted review-sum">${T.files(view.files.length)} <span class="added">+${added}</span> <span class="removed">−${removed}</span></p>
    ${view.files.map((file) => html`<${Diff} key=${file.name} view=${file} onLine=${onLine} isOpen=${view.files.length < FEW} onTakeBack=${isViewing ? null : takeBack(file)} />`)}
    ${order && html`<${TakeBack} ...${{ store, order, tell }} onClose=${(isDone) => { setOrder(null); if (isDone) load(); }} />`}
  </div>`;
}

// Shows what would change, and changes it only if that is still so.
function TakeBack({ store, order, tell, onClose }) {
  const [preview, setPreview] = useState(null);
  useEffect(() => {
    store.request({ ...order, isPreview: true }).then((result) => setPreview(result ?? { problem: T.noAnswer }), (problem) => setPreview({ problem: problem.message }));
  }, []);
  const restore = async () => {
    try {
      await store.request({ ...order, state: preview.state });
      tell(T.takenBack, "info", undoOf(store, tell));
      onClose(true);
    } catch (problem) {
      setPreview({ problem: problem.message });
    }
  };
  return html`<${Dialog} title=${order.hunks ? T.takeBackTitle : T.restoreFileTitle} onClose=${() => onClose(false)} wide>
    ${!preview && html`<p class="muted">${T.connection.connecting}</p>`}
    ${preview?.problem && html`<p class="bad" role="alert">${preview.problem}</p>`}
    ${preview?.leftFiles?.map((file) => html`<p class="small muted">${file.path}: ${file.reason}</p>`)}
    ${preview?.view && html`<div class="preview"><${View} view=${preview.view} /></div>`}
    <div class="buttons"><button type="button" class="button" onClick=${() => onClose(false)}>${T.cancel}</button>
      <button type="button" class="button primary" disabled=${!preview || Boolean(preview.problem)} onClick=${restore}>${order.hunks ? T.takeBack : T.restoreFile}</button></div>
  </${Dialog}>`;
}

// What a remark about a rewind offers.
export const undoOf = (store, tell) => ({
  label: T.undo,
  run: () => store.request({ type: "rewindUndo" }).then(() => tell(T.undone, "info"), (problem) => tell(problem.message)),
});
