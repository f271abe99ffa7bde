// The input: text, images and files, completion, the queue.

import { AT_REST } from "./agent-state.js";
import { Icon, IconButton, html, useEffect, useRef, useState } from "./ui.js";
import { T } from "./strings.js";

const MAX_IMAGE = 8 * 1024 * 1024;
const MAX_TEXT_FILE = 256 * 1024;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const isCommand = (text) => /^\/[^/\s]*(\s|$)/.test(text) || (/^# \S/.test(text) && !text.includes("\n"));

export function commandFor(text, images, ask, state) {
  if (isCommand(text)) return { type: "slashCommand", line: text };
  const isShell = /^!\s*\S/.test(text);
  const words = isShell ? text.replace(/^!\s*/, "") : text;
  const shell = isShell ? { isCommand: true } : {};
  if (ask && ask.ask !== "command_output") {
    const mayRun = AT_REST.includes(ask.ask) || ask.ask === "resume_task";
    return { type: "askResponse", ts: ask.ts, answer: { kind: "say", text: isShell && !mayRun ? text : words, images, ...(mayRun ? shell : {}) } };
  }
  if (state === "running" || state === "streaming") return { type: "queueMessage", text: words, images, ...shell };
  return { type: "newTask", text: words, images, ...shell };
}

export function Composer({ store, ask, state, isViewing, draft, setDraft, run, tell }) {
  const input = useRef(null);
  const picker = useRef(null);
  const [images, setImages] = useState([]);
  const [offered, setPopup] = useState(null);
  const [isDropping, setDropping] = useState(false);
  const [isSending, setSending] = useState(false);
  // Completions of a text that has changed since are none of this one.
  const popup = offered?.text === draft ? offered : null;
  const isBusy = state === "running" || state === "streaming";
  const isOff = isViewing || Boolean(ask?.controls?.isSendingDisabled);

  useEffect(() => {
    const area = input.current;
    area.style.height = "";
    if (draft) area.style.height = `${Math.min(area.scrollHeight + 2, window.innerHeight * 0.4)}px`;
  }, [draft]);

  const submit = async () => {
    const text = draft.trim();
    if (isOff || isSending || (!text && !images.length)) return;
    setSending(true);
    setPopup(null);
    const sent = { draft, images };
    setDraft("");
    setImages([]);
    try {
      await run(commandFor(text, images, ask, state));
    } catch (problem) {
      setDraft(sent.draft);
      setImages(sent.images);
      tell(problem.message);
    } finally {
      setSending(false);
      input.current?.focus();
    }
  };
  const complete = async (text, caret) => {
    if (!/(^\/|(^|\s)@\S*$)/.test(text.slice(0, caret))) return setPopup(null);
    const points = [...text.slice(0, caret)].length;
    try {
      const { completion } = await store.send({ type: "complete", text, caret: points, limit: 12 });
      if (input.current?.value !== text) return;
      setPopup(completion?.candidates?.length ? { ...completion, text, at: 0 } : null);
    } catch {
      setPopup(null);
    }
  };
  const take = (candidate) => {
    const points = [...draft];
    const start = popup.start ?? 0;
    const text = [...points.slice(0, start), candidate.insert, ...points.slice(popup.end ?? 0)].join("");
    setDraft(text);
    setPopup(null);
    input.current.focus();
    const caret = [...points.slice(0, start), candidate.insert].join("").length;
    requestAnimationFrame(() => input.current.setSelectionRange(caret, caret));
    setTimeout(() => complete(text, caret));
  };
  // A word that is complete already is not completed again: Enter sends it.
  const isTyped = (candidate) => candidate.insert.trim() === [...draft].slice(popup.start ?? 0, popup.end ?? 0).join("").trim();
  const addFiles = async (files) => {
    for (const file of files) {
      if (IMAGES.includes(file.type) && file.size <= MAX_IMAGE) {
        const url = await dataUrl(file);
        setImages((before) => [...before, url]);
        if (store.panels.session && store.panels.session.seesImages === false) tell(T.imagesUnseen);
      } else if (file.size <= MAX_TEXT_FILE && !file.type.startsWith("image/")) {
        const text = await file.text();
        setDraft((before) => `${before}${before && "\n"}${file.name}:\n\`\`\`\n${text}\n\`\`\`\n`);
      } else tell(T.tooBig(file.name));
    }
  };
  const onKeyDown = (event) => {
    if (event.isComposing) return;
    if (popup && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      const count = popup.candidates.length;
      const step = event.key === "ArrowDown" ? 1 : count - 1;
      return setPopup({ ...offered, at: (popup.at + step) % count });
    }
    if (popup && (event.key === "Tab" || (event.key === "Enter" && !isTyped(popup.candidates[popup.at])))) {
      event.preventDefault();
      return take(popup.candidates[popup.at]);
    }
    if (popup && event.key === "Escape") {
      event.stopPropagation();
      return setPopup(null);
    }
    if (event.key === "Enter" && !event.shiftKey && !matchMedia("(pointer: coarse)").matches) {
      event.preventDefault();
      submit();
    }
  };
  useEffect(() => {
    if (isOff) return undefined;
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const onDrag = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDropping(event.type !== "dragleave" || event.relatedTarget !== null);
    };
    const onDrop = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDropping(false);
      addFiles([...event.dataTransfer.files]);
    };
    const listeners = [["dragenter", onDrag], ["dragover", onDrag], ["dragleave", onDrag], ["drop", onDrop]];
    for (const [name, listener] of listeners) window.addEventListener(name, listener);
    return () => listeners.forEach(([name, listener]) => window.removeEventListener(name, listener));
  });
  const onPaste = (event) => {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    addFiles(files);
  };
  return html`<form class=${isDropping ? "composer dropping" : "composer"} onSubmit=${(event) => { event.preventDefault(); submit(); }}>
    ${isDropping && html`<p class="drop-here" aria-hidden="true">${T.dropHere}</p>`}
    ${popup && html`<ul class="popup" role="listbox" id="popup">${popup.candidates.map((each, index) => html`<li role="option" id=${`option-${index}`} aria-selected=${index === popup.at} onMouseDown=${(event) => { event.preventDefault(); take(each); }}><span>${each.label}</span><span class="muted small">${each.description}</span></li>`)}</ul>`}
    ${images.length > 0 && html`<div class="images">${images.map((source, index) => html`<span class="thumb"><img src=${source} alt="" /><${IconButton} icon="close" label=${T.dismiss} onClick=${() => setImages(images.filter((_, at) => at !== index))} /></span>`)}</div>`}
    <div class="composer-row">
      <${IconButton} icon="clip" label=${T.attach} disabled=${isOff} onClick=${() => picker.current.click()} />
      <input ref=${picker} type="file" hidden multiple onChange=${(event) => { addFiles([...event.target.files]); event.target.value = ""; }} />
      <textarea id="input" ref=${input} rows="1" value=${draft} disabled=${isOff} placeholder=${placeholder(ask, isBusy, isOff, isViewing)} aria-label=${placeholder(ask, isBusy, isOff, isViewing)}
        role="combobox" aria-expanded=${Boolean(popup)} aria-controls="popup" aria-autocomplete="list" aria-activedescendant=${popup ? `option-${popup.at}` : undefined}
        onInput=${(event) => { setDraft(event.target.value); complete(event.target.value, event.target.selectionStart); }} onKeyDown=${onKeyDown} onPaste=${onPaste}></textarea>
      ${isBusy && !draft.trim()
        ? html`<button type="button" class="round stop" aria-label=${T.stop} title=${`${T.stop} (Esc)`} disabled=${isViewing} onClick=${() => run({ type: "cancelTask" }).catch((problem) => tell(problem.message))}><${Icon} name="stop" /></button>`
        : html`<button type="submit" class="round" aria-label=${isBusy ? T.queueIt : T.send} title=${isBusy ? T.queueIt : T.send} disabled=${isOff || isSending || (!draft.trim() && !images.length)}><${Icon} name="send" /></button>`}
    </div>
  </form>`;
}

function placeholder(ask, isBusy, isOff, isViewing) {
  if (isViewing) return T.placeholder.view;
  if (isOff) return T.placeholder.off;
  if (ask?.ask === "followup") return T.placeholder.followup;
  if (ask?.asked?.kind === "approval") return T.placeholder.approval;
  if (AT_REST.includes(ask?.ask)) return T.placeholder.done;
  return isBusy ? T.placeholder.queued : T.placeholder.task;
}

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
