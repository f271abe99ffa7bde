// Dialogs: a new session, rewinding, what commands show, settings, letting this browser in.

import { Dialog, html, useEffect, useState } from "./ui.js";
import { View } from "./views.js";
import { undoOf } from "./review.js";
import { enterCode, get, knock, post, sessions } from "./api.js";
import { T } from "./strings.js";
import { THEMES, setTheme, themeNow } from "./theme.js";
import { askForNotifications, notifies, setNotifies } from "./notify.js";

const MODES = ["default", "acceptEdits", "plan", "confined", "bypassPermissions"];

export function NewSession({ cwd, directories, onClose, onStarted, tell }) {
  const [wanted, setWanted] = useState({ cwd, text: "", permissionMode: "" });
  const [isSent, setSent] = useState(false);
  const set = (name) => (event) => setWanted({ ...wanted, [name]: event.target.value });
  const start = async (event) => {
    event.preventDefault();
    setSent(true);
    const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ""));
    try {
      onStarted((await sessions.start(given)).id);
    } catch (problem) {
      setSent(false);
      if (problem.body?.sessionId) onStarted(problem.body.sessionId);
      tell(problem.message);
    }
  };
  return html`<${Dialog} title=${T.newSession} onClose=${onClose}><form class="form" onSubmit=${start}>
    <label>${T.firstTask}<textarea rows="4" autofocus value=${wanted.text} onInput=${set("text")}></textarea></label>
    <label>${T.directory}<input list="directories" required value=${wanted.cwd} onInput=${set("cwd")} /></label>
    <datalist id="directories">${directories.map((each) => html`<option value=${each} />`)}</datalist>
    <label>${T.permissionMode}<select value=${wanted.permissionMode} onChange=${set("permissionMode")}><option value="">${T.defaultMode}</option>${MODES.map((mode) => html`<option value=${mode}>${T.modes[mode]}</option>`)}</select></label>
    <div class="buttons"><button type="submit" class="button primary" disabled=${isSent}>${T.start}</button></div>
  </form></${Dialog}>`;
}

export function Rewind({ store, onClose, setDraft, tell }) {
  const [points, setPoints] = useState(null);
  const [at, setAt] = useState(0);
  const [scope, setScope] = useState("both");
  const [preview, setPreview] = useState(null);
  useEffect(() => {
    store.request({ type: "rewindList" }).then((reply) => {
      const live = (reply?.points ?? []).filter((point) => point.isLive !== false);
      setPoints(live);
      setAt(Math.max(0, live.length - 1));
    }, (problem) => { tell(problem.message); onClose(); });
  }, [store.id]);
  const point = points?.[at];
  useEffect(() => {
    if (!point) return;
    let isOld = false;
    setPreview(null);
    store.request({ type: "rewind", number: point.number, scope, isPreview: true }).then((result) => !isOld && setPreview(result), (problem) => !isOld && setPreview({ problem: problem.message }));
    return () => { isOld = true; };
  }, [point?.number, scope]);
  const restore = async () => {
    try {
      const result = await store.request({ type: "rewind", number: point.number, scope, state: preview.state });
      if (result?.draft) setDraft(result.draft);
      onClose();
      tell(T.rewound, "info", undoOf(store, tell));
    } catch (problem) {
      tell(problem.message);
    }
  };
  const body = () => {
    if (!points) return html`<p class="muted">${T.connection.connecting}</p>`;
    if (!points.length) return html`<p class="muted">${T.noPoints}</p>`;
    return html`<p>${T.points}</p>
      <input type="range" min="0" max=${points.length - 1} value=${at} aria-label=${T.rewind} aria-valuetext=${point.prompt} onInput=${(event) => setAt(Number(event.target.value))} />
      <p class="words quoted"><span class="chip">${point.number}</span> ${point.prompt}</p>
      <label>${T.rewind} <select value=${scope} onChange=${(event) => setScope(event.target.value)}>${Object.entries(T.scopes).map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></label>
      ${preview?.problem && html`<p class="bad">${preview.problem}</p>`}
      ${preview?.leftFiles?.map((file) => html`<p class="small muted">${file.path}: ${file.reason}</p>`)}
      ${preview?.view && html`<div class="preview"><${View} view=${preview.view} /></div>`}
      <div class="buttons"><button type="button" class="button primary" disabled=${!preview || Boolean(preview.problem)} onClick=${restore}>${T.restore}</button></div>`;
  };
  return html`<${Dialog} title=${T.rewind} onClose=${onClose} wide>${body()}</${Dialog}>`;
}

export function Settings({ me, onClose, run, hasSession, tell }) {
  const [theme, choose] = useState(themeNow());
  const [isNotifying, setNotifying] = useState(notifies());
  const [devices, setDevices] = useState([]);
  const [link, setLink] = useState("");
  const isFull = me.access === "full";
  const load = () => get("/api/devices").then(setDevices, () => {});
  useEffect(() => { if (isFull) load(); }, []);
  const toggle = async () => {
    const wanted = !isNotifying;
    if (wanted && !(await askForNotifications())) return tell(T.notifyDenied);
    setNotifies(wanted);
    setNotifying(wanted);
  };
  const makeLink = (access) => post("/api/devices/link", { access }).then(({ token }) => setLink(`${location.origin}/#${token}`), (problem) => tell(problem.message));
  return html`<${Dialog} title=${T.settings} onClose=${onClose}>
    <fieldset class="themes"><legend>${T.theme}</legend>${THEMES.map((name) => html`<label><input type="radio" name="theme" checked=${theme === name} onChange=${() => { setTheme(name); choose(name); }} /> ${T.themes[name]}</label>`)}</fieldset>
    <label class="toggle"><input type="checkbox" checked=${isNotifying} onChange=${toggle} /> ${T.notify}</label>
    ${hasSession && isFull && html`<h3>${T.everything}</h3><div class="chips">${Object.entries(T.tools).map(([name, text]) => html`<button type="button" class="suggestion" onClick=${() => run(`/${name}`)}>${text} <code>/${name}</code></button>`)}</div>`}
    ${isFull && html`<h3>${T.browsers}</h3><ul class="devices">${devices.map((each) => html`<li>${each.name} ${each.access === "view" && html`<span class="chip">${T.viewOnly}</span>`} ${each.isOwn ? html`<span class="muted small">${T.thisBrowser}</span>` : html`<button type="button" class="link bad" onClick=${() => post(`/api/devices/${each.id}/revoke`).then(load, (problem) => tell(problem.message))}>${T.revoke}</button>`}</li>`)}</ul>
      <div class="buttons start"><button type="button" class="button" onClick=${() => makeLink("full")}>${T.linkFull}</button><button type="button" class="button" onClick=${() => makeLink("view")}>${T.linkView}</button></div>
      ${link && html`<input class="copyable" readonly value=${link} aria-label=${T.linkOnce} onFocus=${(event) => event.target.select()} /><p class="small muted">${T.linkOnce}</p>`}`}
    <div class="key-part"><h3>${T.keys}</h3><dl class="facts">${T.keyList.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl></div>
    <p class="small muted">Robota ${me.version}</p>
  </${Dialog}>`;
}

export function Entrance({ problem, onEntered, isLoopback }) {
  const [pairing, setPairing] = useState(null);
  const [code, setCode] = useState("");
  const [trouble, setTrouble] = useState(problem);
  const ask = () => knock().then(({ id }) => { setPairing(id); setTrouble(""); }, (error) => setTrouble(error.message));
  const send = (event) => {
    event.preventDefault();
    enterCode(pairing, code).then(onEntered, (error) => setTrouble(error.message));
  };
  return html`<main class="entrance"><h1>${T.enterTitle}</h1><p>${T.enterText}</p>
    ${!isLoopback && !pairing && html`<p>${T.codeText}</p><button type="button" class="button primary" onClick=${ask}>${T.askCode}</button>`}
    ${pairing && html`<form onSubmit=${send}><label>${T.code}<input inputmode="numeric" autocomplete="one-time-code" autofocus value=${code} onInput=${(event) => setCode(event.target.value)} /></label><button type="submit" class="button primary">${T.open}</button></form>`}
    ${trouble && html`<p class="bad" role="alert">${trouble}</p>`}</main>`;
}
