// What all parts of the page use: templates, safe HTML, icons, times.

import { Component, h, html, render, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { T } from "./strings.js";

export { Component, h, html, render, useEffect, useLayoutEffect, useMemo, useRef, useState };

// The only way for HTML into the page. It takes what the server has rendered and cleaned, and nothing else.
const NOTIFIER = "/site/js/notifier.js";
const policy = globalThis.trustedTypes?.createPolicy("robota", { createHTML: (text) => text, createScriptURL: () => NOTIFIER });
export const notifierUrl = () => (policy ? policy.createScriptURL(NOTIFIER) : NOTIFIER);
const trusted = (text) => ({ __html: policy ? policy.createHTML(text) : text });

export class ServerHtml extends Component {
  shouldComponentUpdate(next) {
    return next.html !== this.props.html || next.class !== this.props.class;
  }

  render({ html: text, tag = "div", class: name }) {
    return h(tag, { class: name, dangerouslySetInnerHTML: trusted(text) });
  }
}

const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  clip: "M8 12l6-6a3 3 0 014 4l-8 8a5 5 0 01-7-7l7-7",
  panel: "M4 5h16v14H4zM15 5v14",
  close: "M6 6l12 12M18 6L6 18",
  gear: "M12 9a3 3 0 100 6 3 3 0 000-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M5.6 18.4l2.1-2.1M16.3 7.7l2.1-2.1",
  check: "M5 12l5 5 9-10",
  cross: "M6 6l12 12M18 6L6 18",
  dots: "M12 6h.01M12 12h.01M12 18h.01",
  back: "M9 7l-5 5 5 5M4 12h10a6 6 0 010 12",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5a3 3 0 006 0h5",
  copy: "M9 9h10v10H9zM5 15V5h10",
};

export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

export const IconButton = ({ icon, label, onClick, class: name = "", ...rest }) =>
  html`<button type="button" class=${`icon-button ${name}`} aria-label=${label} title=${label} onClick=${onClick} ...${rest}><${Icon} name=${icon} /></button>`;

export function ago(ms) {
  const minutes = Math.floor((Date.now() - ms) / 60_000);
  if (minutes < 1) return T.ago.now;
  if (minutes < 60) return `${minutes} ${T.ago.minutes}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} ${T.ago.hours}` : `${Math.floor(hours / 24)} ${T.ago.days}`;
}

export function duration(ms) {
  if (!ms || ms < 100) return "";
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export const money = (usd) => (usd == null ? "" : `$${usd < 1 ? usd.toFixed(3) : usd.toFixed(2)}`);

// A dialog that keeps the focus, and gives it back.
export function Dialog({ title, onClose, wide, children }) {
  const ref = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    const dialog = ref.current;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.({ preventScroll: true });
    };
  }, []);
  const onClick = (event) => event.target === ref.current && onClose();
  return html`<dialog ref=${ref} class=${wide ? "dialog wide" : "dialog"} aria-label=${title} onClick=${onClick}
      onCancel=${(event) => { event.preventDefault(); onClose(); }}>
    <div class="dialog-frame">
      <header><h2>${title}</h2><${IconButton} icon="close" label=${T.close} onClick=${onClose} /></header>
      <div class="dialog-body" tabindex="0">${children}</div>
    </div>
  </dialog>`;
}
