import { badge, button, counted, duration, el, failedBadge, timeText } from './dom.js';

const ROW_HEIGHT = 28;
const MARGIN_ROWS = 8;
const MAX_INDENT = 12;

export function keyOf({ project_id: project, id }) {
  return JSON.stringify([project, id]);
}

/**
 * Shows the calls of a trace as a tree and as bars on one axis of time; only the rows in view are in the document.
 * `onSelect` gets the call that a click or a key selects.
 */
export function createWaterfall(section, onSelect) {
  const folded = new Set();
  let [nodes, start, end] = [new Map(), 0, 0];
  let rows = [];
  let selected;
  const inner = el('div', { className: 'rows', role: 'none' });
  const tree = el('div', { className: 'tree', tabIndex: 0, role: 'tree', ariaLabel: 'Calls of the trace' }, inner);
  const head = el('div');
  section.append(head, tree);
  const share = (ms) => `${(ms / (end - start || 1)) * 100}%`;
  const indexOf = (node) => rows.findIndex((row) => row.node === node);

  const drawRows = () => {
    const first = Math.max(0, Math.floor(tree.scrollTop / ROW_HEIGHT) - MARGIN_ROWS);
    const count = Math.ceil(tree.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS;
    inner.replaceChildren(...rows.slice(first, first + count).map((row, at) => rowElement(row, first + at)));
    tree.setAttribute('aria-activedescendant', selected ? `row-${indexOf(selected)}` : '');
  };
  const layOut = () => {
    rows = flatten([...nodes.values()], folded);
    inner.style.height = `${rows.length * ROW_HEIGHT}px`;
    drawRows();
  };
  const toggle = ({ key }) => {
    if (!folded.delete(key)) folded.add(key);
    layOut();
  };
  const rowElement = ({ node, ariaLevel, ariaPosInSet, ariaSetSize }, at) => {
    const { call, key, children } = node;
    const [isFolded, isSelected] = [folded.has(key), node === selected];
    const sign = children.length === 0 ? '' : isFolded ? '▸' : '▾';
    const paddingLeft = `min(${ariaLevel * 14 - 6}px, ${(Math.min(ariaLevel, MAX_INDENT) * 50) / MAX_INDENT}%)`;
    const twisty = el('span', { className: 'twisty' }, sign);
    const name = el('span', { className: 'call', style: { paddingLeft } }, twisty, call.name);
    if (call.isMatch) name.append(' ', badge('◆ match', 'match'));
    if (call.failed) name.append(' ', failedBadge('failed'));
    if (call.feedback.length > 0) name.append(' ', badge(call.feedback.at(-1)));
    const [state, length] = node.end === null ? ['open', '◌ no end'] : ['', duration(call.durationMs)];
    const style = { left: share(node.start - start), width: share((node.end ?? end) - node.start) };
    const bar = el('span', { className: `bar ${state} ${call.failed ? 'failed' : ''}`, style });
    const properties = {
      ...{ id: `row-${at}`, role: 'treeitem', className: `row ${isSelected ? 'selected' : ''}` },
      ...{ ariaLevel, ariaPosInSet, ariaSetSize, ariaSelected: isSelected, ariaExpanded: sign ? !isFolded : null },
      title: `${call.name}: starts at +${duration(node.start - start)}, ${length}; ${call.feedback.join(', ')}`,
      style: { top: `${at * ROW_HEIGHT}px` },
      onclick: ({ target }) => (sign && target === twisty ? toggle(node) : onSelect(call)),
    };
    const lane = el('span', { className: 'lane' }, bar);
    return el('div', properties, name, lane, el('span', { className: 'number' }, length));
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
      if (selected?.children.length > 0 && !folded.has(selected.key)) toggle(selected);
      else if (selected?.parent) onSelect(selected.parent.call);
    },
    ArrowRight: () => {
      if (folded.has(selected?.key)) toggle(selected);
      else if (selected?.children[0]) onSelect(selected.children[0].call);
    },
  };
  tree.addEventListener('scroll', drawRows);
  new ResizeObserver(drawRows).observe(tree);

  return {
    keys,
    move,
    focus: () => tree.focus(),
    show: ({ calls, total }, title) => {
      nodes = buildTree(calls);
      const all = [...nodes.values()];
      start = all[0]?.start ?? 0;
      end = all.reduce((latest, node) => Math.max(latest, node.end ?? node.start), start);
      layOut();
      const slowest = all.reduce((most, node) => (node.ownMs > (most?.ownMs ?? 0) ? node : most), undefined);
      const text = slowest && `${slowest.call.name} ${duration(slowest.ownMs)}`;
      const first = calls.length < total ? `the first ${calls.length} of ` : '';
      const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => el('small', {}, duration(part * (end - start))));
      const failed = all.filter(({ call }) => call.failed);
      const found = all.find(({ call }) => call.isMatch);
      const jump = (what, node) => (node ? [button(what, () => onSelect(node.call))] : []);
      const facts = [`${first}${counted(total, 'call', 'calls')}`, duration(end - start), timeText(start)];
      head.replaceChildren(
        title,
        el('h2', {}, all[0] ? (rows[0]?.node ?? all[0]).call.name : ''),
        el(
          'p',
          { className: 'tools' },
          el('span', {}, facts.join(' · ')),
          ...jump(`Slowest by itself: ${text}`, slowest),
          ...jump(`✕ ${failed.length} failed: ${failed[0]?.call.name}`, failed[0]),
          ...jump(`◆ First match: ${found?.call.name}`, found),
        ),
        el('div', { className: 'axis' }, el('span', {}, ticks)),
      );
    },
    select: (key) => {
      selected = nodes.get(key);
      for (let at = selected?.parent; at; at = at.parent) folded.delete(at.key);
      layOut();
      const top = indexOf(selected) * ROW_HEIGHT;
      if (selected) tree.scrollTop = Math.min(top, Math.max(tree.scrollTop, top + ROW_HEIGHT - tree.clientHeight));
    },
  };
}

// The nodes of calls by their keys, in order of their start. A trace may be as deep as it has calls, and calls may name each
// other as parents.
function buildTree(calls) {
  const all = calls.map((call) => {
    const start = call.startedMs;
    const end = call.durationMs === null ? null : start + call.durationMs;
    return { call, key: keyOf(call), start, end, children: [], parent: undefined, ownMs: call.durationMs ?? 0 };
  });
  all.sort((left, right) => left.start - right.start);
  const byId = new Map(all.map((node) => [node.call.id, node]));
  for (const node of all) {
    const parent = byId.get(node.call.parent);
    let above = parent;
    while (above && above !== node) above = above.parent;
    if (!parent || above === node) continue;
    node.parent = parent;
    parent.children.push(node);
    parent.ownMs -= node.call.durationMs ?? 0;
  }
  return new Map(all.map((node) => [node.key, node]));
}

function flatten(all, folded) {
  const rows = [];
  const rowsOf = (nodes, ariaLevel) =>
    nodes.map((node, at) => ({ node, ariaLevel, ariaPosInSet: at + 1, ariaSetSize: nodes.length })).reverse();
  const roots = all.filter(({ parent }) => !parent);
  for (const stack = rowsOf(roots, 1); stack.length > 0; ) {
    const row = stack.pop();
    rows.push(row);
    if (!folded.has(row.node.key)) stack.push(...rowsOf(row.node.children, row.ariaLevel + 1));
  }
  return rows;
}
