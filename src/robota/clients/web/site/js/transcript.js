// The conversation as it scrolls: a window of items, which moves with the user, so that the document stays small.

import { Component, html } from "./ui.js";
import { Item } from "./rows.js";
import { itemsOf } from "./session-store.js";
import { T } from "./strings.js";

const SHOWN = 160;
const STEP = 80;
const NEAR = 240;

export class Transcript extends Component {
  state = { end: null }; // the item behind the window; null while the newest are shown

  componentDidMount() {
    this.toEnd();
  }

  componentDidUpdate() {
    const box = this.box;
    if (this.anchor) {
      const after = box.querySelector(`[data-key="${CSS.escape(this.anchor.key)}"]`);
      if (after) box.scrollTop += after.getBoundingClientRect().top - this.anchor.top;
      this.anchor = null;
    } else if (this.isAtEnd && this.state.end === null) this.toEnd();
  }

  getSnapshotBeforeUpdate() {
    return null;
  }

  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
    this.isAtEnd = true;
  }

  latest = () => {
    this.isAtEnd = true;
    this.setState({ end: null }, () => this.toEnd());
  };

  // Keep what the user reads where it is while the window moves.
  hold() {
    const top = this.box.getBoundingClientRect().top;
    for (const node of this.box.querySelectorAll("[data-key]")) {
      const rect = node.getBoundingClientRect();
      if (rect.bottom > top) {
        this.anchor = { key: node.dataset.key, top: rect.top };
        return;
      }
    }
  }

  onScroll = () => {
    const box = this.box;
    const fromEnd = box.scrollHeight - box.scrollTop - box.clientHeight;
    this.isAtEnd = fromEnd < 40;
    const { items, start, end } = this.window;
    if (box.scrollTop < NEAR) {
      if (start > 0) {
        this.hold();
        const last = Math.max(SHOWN, end - STEP);
        if (last < end) this.setState({ end: items[last].key });
      } else if (this.props.store.older) {
        this.hold();
        const last = items[Math.min(SHOWN, items.length) - 1];
        this.props.store.loadOlder().catch((problem) => this.props.tell(problem.message));
        if (items.length > SHOWN && last) this.setState({ end: last.key });
      }
    } else if (fromEnd < NEAR && end < items.length) {
      this.hold();
      const last = Math.min(items.length, end + STEP);
      this.setState({ end: last === items.length ? null : items[last].key });
    }
    if (this.isAtEnd !== this.wasAtEnd) {
      this.wasAtEnd = this.isAtEnd;
      this.forceUpdate();
    }
  };

  shouldComponentUpdate(next, state) {
    if (next.version !== this.props.version && !this.isAtEnd && this.box) this.hold();
    return next.version !== this.props.version || state !== this.state;
  }

  render({ store, onLine }) {
    const items = itemsOf(store);
    const found = this.state.end === null ? -1 : items.findIndex((item) => item.key === this.state.end);
    const end = found < 0 ? items.length : Math.max(found, Math.min(SHOWN, items.length));
    const start = Math.max(0, end - SHOWN);
    this.window = { items, start, end };
    const asking = new Set((store.panels.asks ?? []).map((row) => row.callId));
    const isAway = end < items.length || this.isAtEnd === false;
    return html`<div class="transcript-frame">
      <div class="transcript" ref=${(box) => { this.box = box ?? this.box; }} onScroll=${this.onScroll} tabindex="0" role="log" aria-label=${T.product} aria-live="off">
        <div class="column">
          ${(store.older > 0 || start > 0) && html`<p class="muted small centred">${store.isLoadingOlder ? "…" : T.older}</p>`}
          ${items.slice(start, end).map((item) => html`<div key=${item.key} data-key=${item.key}><${Item} row=${item.row} call=${item.call} isWaiting=${Boolean(item.call) && asking.has(item.call.callId)} onLine=${onLine} /></div>`)}
          ${end === items.length && html`<${Doing} panels=${store.panels} />`}
        </div>
      </div>
      ${isAway && html`<button type="button" class="latest button" onClick=${this.latest}>${T.latest} ↓</button>`}
    </div>`;
  }
}

function Doing({ panels }) {
  if (panels.retry) return html`<p class="doing retry"><span class="spinner" aria-hidden="true"></span>${panels.retry.words}</p>`;
  const writing = panels.writing?.at(-1);
  if (writing) return html`<p class="doing"><span class="spinner" aria-hidden="true"></span>${writing.tool} ${writing.firstArg ?? ""}</p>`;
  return panels.thinking ? html`<p class="doing"><span class="spinner" aria-hidden="true"></span>${T.thinking}</p>` : null;
}
