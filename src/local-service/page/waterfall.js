import { badge, button, counted, duration, el } from './dom.js';

const ROW_HEIGHT = 28;
const MARGIN_ROWS = 8;
const MAX_INDENT = 12;

/** The key of a call in a trace. */
export function callKey({ project, id }) {
  return JSON.stringify([project, id]);
}

/**
 * The calls of a trace as a tree and as bars on one axis of time; only the rows in view are in the document.
 * `onSelect` gets the call that a click or a key selects.
 */
export function createWaterfall({ calls, total }, onSelect) {
  const { roots, nodes, start, end } = buildTree(calls);
  const folded = new Set();
  let rows = [];
  let selected;
  const inner = el('div', { className: 'rows', role: 'none' });
  const tree = el('div', { className: 'tree', tabIndex: 0, role: 'tree', ariaLabel: 'Calls of the trace' }, inner);
  const share = (ms) => `${(ms / (end - start || 1)) * 100}%`;
  const indexOf = (node) => rows.findIndex((row) => row.node === node);

  const draw = () => {
    const first = Math.max(0, Math.floor(tree.scrollTop / ROW_HEIGHT) - MARGIN_ROWS);
    const count = Math.ceil(tree.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS;
    inner.replaceChildren(...rows.slice(first, first + count).map((row, at) => rowElement(row, first + at)));
    tree.setAttribute('aria-activedescendant', selected ? `row-${indexOf(selected)}` : '');
  };
  const layOut = () => {
    rows = flatten(roots, folded);
    inner.style.height = `${rows.length * ROW_HEIGHT}px`;
    draw();
  };
  const toggle = (node) => {
    if (!folded.delete(node)) folded.add(node);
    layOut();
  };
  const rowElement = ({ node, depth, place, siblings }, at) => {
    const { call, children } = node;
    const isParent = children.length > 0;
    const sign = !isParent ? '' : folded.has(node) ? '▸' : '▾';
    const name = el('span', { className: 'call' }, el('span', { className: 'twisty' }, sign), call.name);
    name.style.paddingLeft = `min(${depth * 14}px, ${(Math.min(depth, MAX_INDENT) * 50) / MAX_INDENT}%)`;
    if (call.failed) name.append(badge('failed', 'failed'));
    if (call.feedback.length > 0) name.append(badge(call.feedback.at(-1)));
    const bar = el('span', { className: `bar ${node.end === null ? 'open' : ''} ${call.failed ? 'failed' : ''}` });
    bar.style.left = share(node.start - start);
    bar.style.width = share((node.end ?? end) - node.start);
    const length = node.end === null ? 'no end' : duration(call.durationMs);
    const onclick = ({ target }) => (isParent && target.className === 'twisty' ? toggle(node) : onSelect(call));
    const title = `${call.name}: starts at +${duration(node.start - start)}, ${length}; ${call.feedback.join(', ')}`;
    const cells = [name, el('span', { className: 'lane' }, bar), el('span', { className: 'length' }, length)];
    const element = el('div', { className: 'row', id: `row-${at}`, role: 'treeitem', title, onclick }, cells);
    element.style.top = `${at * ROW_HEIGHT}px`;
    const aria = { level: depth + 1, posinset: place + 1, setsize: siblings, selected: node === selected };
    if (isParent) aria.expanded = !folded.has(node);
    for (const [key, value] of Object.entries(aria)) element.setAttribute(`aria-${key}`, String(value));
    return element;
  };
  const move = (steps) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, indexOf(selected) + steps))];
    if (row) onSelect(row.node.call);
  };
  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Home: () => move(-rows.length),
    End: () => move(rows.length),
    ArrowLeft: () => {
      if (selected?.children.length > 0 && !folded.has(selected)) toggle(selected);
      else if (selected?.parent) onSelect(selected.parent.call);
    },
    ArrowRight: () => {
      if (folded.has(selected)) toggle(selected);
      else if (selected?.children[0]) onSelect(selected.children[0].call);
    },
  };
  tree.addEventListener('keydown', (event) => {
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  tree.addEventListener('scroll', draw);
  new ResizeObserver(draw).observe(tree);
  layOut();

  const first = calls.length < total ? `the first ${calls.length} of ` : '';
  const facts = el('p', {}, `${first}${counted(total, 'call', 'calls')}, ${duration(end - start)}`);
  const slowest = [...nodes.values()].reduce(
    (most, node) => (node.ownMs > (most?.ownMs ?? 0) ? node : most),
    undefined,
  );
  if (slowest) {
    const text = `${slowest.call.name} ${duration(slowest.ownMs)}`;
    facts.append(
      ', slowest by itself: ',
      button(text, () => onSelect(slowest.call)),
    );
  }
  const ticks = [0, 0.5, 1].map((part) => el('small', {}, duration(part * (end - start))));
  return {
    elements: [facts, el('div', { className: 'axis' }, el('span', {}, ticks)), tree],
    focus: () => tree.focus(),
    move,
    select: (key) => {
      selected = nodes.get(key);
      for (let at = selected?.parent; at; at = at.parent) folded.delete(at);
      layOut();
      const top = indexOf(selected) * ROW_HEIGHT;
      const isAbove = top < tree.scrollTop;
      if (selected && isAbove) tree.scrollTop = top;
      else if (top + ROW_HEIGHT > tree.scrollTop + tree.clientHeight)
        tree.scrollTop = top + ROW_HEIGHT - tree.clientHeight;
      draw();
    },
  };
}

// With loops instead of recursion: a trace may be as deep as it has calls, and calls may name each other as parents.
function buildTree(calls) {
  const all = calls.map((call) => {
    const start = Date.parse(call.startedAt);
    const end = call.durationMs === null ? null : start + call.durationMs;
    return { call, start, end, children: [], parent: undefined, ownMs: call.durationMs ?? 0 };
  });
  const start = all.reduce((least, node) => Math.min(least, node.start), Number.POSITIVE_INFINITY);
  const end = all.reduce((most, node) => Math.max(most, node.end ?? node.start), start);
  const ids = new Set(calls.map(({ id }) => id));
  const childrenOf = Map.groupBy(all, ({ call }) => call.parent);
  const roots = [];
  const reached = new Set();
  for (const root of [...all.filter(({ call }) => !ids.has(call.parent)), ...all]) {
    if (reached.has(root)) continue;
    roots.push(root);
    reached.add(root);
    for (const stack = [root]; stack.length > 0; ) {
      const node = stack.pop();
      node.children = (childrenOf.get(node.call.id) ?? []).filter((child) => !reached.has(child));
      node.children.sort((left, right) => left.start - right.start);
      for (const child of node.children) {
        reached.add(child);
        child.parent = node;
        node.ownMs -= child.call.durationMs ?? 0;
        stack.push(child);
      }
    }
  }
  return { roots, nodes: new Map(all.map((node) => [callKey(node.call), node])), start, end };
}

function flatten(roots, folded) {
  const rows = [];
  const rowsOf = (nodes, depth) => nodes.map((node, place) => ({ node, depth, place, siblings: nodes.length }));
  for (const stack = rowsOf(roots, 0).reverse(); stack.length > 0; ) {
    const row = stack.pop();
    rows.push(row);
    if (!folded.has(row.node)) for (const next of rowsOf(row.node.children, row.depth + 1).reverse()) stack.push(next);
  }
  return rows;
}
