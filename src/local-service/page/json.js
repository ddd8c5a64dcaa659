import { button, el } from './dom.js';

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/gs;
const MAX_CHARS = 200_000;
const OPEN_DEPTH = 2;
const MAX_OPEN_ITEMS = 60;

/** A tree of JSON text; undefined for other or very large text. Each node has its `text`, with every digit, and a container has `items`. */
export function parseTree(text) {
  const root = { items: [] };
  const stack = [root];
  let key;
  for (const { 0: token, index } of text.length > MAX_CHARS ? [] : text.matchAll(TOKEN)) {
    const { items } = stack.at(-1);
    if (token === ':') key = items.pop()?.text;
    else if (token === '}' || token === ']') {
      const node = stack.pop();
      if (stack.length === 0) return undefined;
      node.text = text.slice(node.start, index + 1);
    } else if (token !== ',') {
      const node = { key, text: token, start: index, items: token === '{' || token === '[' ? [] : undefined };
      items.push(node);
      if (node.items) stack.push(node);
      key = undefined;
    }
  }
  return stack.length === 1 && root.items.length === 1 ? root.items[0] : undefined;
}

/** The value at a path of keys joined by dots. */
export function nodeAt(tree, path) {
  return path.split('.').reduce((node, key) => node?.items?.findLast((item) => decoded(item.key) === key), tree);
}

/** The value at a path as it is shown; of an array, its values. */
export function textAt(tree, path) {
  const node = nodeAt(tree, path);
  if (node?.items) return node.items.flatMap((item) => (item.items ? [] : decoded(item.text))).join(', ');
  return decoded(node?.text ?? '');
}

function decoded(text) {
  return text?.[0] === '"' ? JSON.parse(text) : text;
}

/** JSON as a tree that folds; other or very large text as it is. */
export function jsonView(text) {
  const tree = parseTree(text);
  const note = text.length > MAX_CHARS ? '\n… (use Export for all of it)' : '';
  if (!tree) return el('pre', { className: 'json', tabIndex: 0 }, text.slice(0, MAX_CHARS) + note);
  return el('div', { className: 'json' }, nodeView(tree, 0));
}

function nodeView({ key, text, items }, depth) {
  const name = key === undefined ? [] : [el('span', { className: 'key' }, key), ': '];
  if (!items?.length) return el('div', {}, ...name, el('span', { className: text[0] === '"' ? '' : 'scalar' }, text));
  const size = el('small', {}, ` ${items.length} `);
  const box = el('details', {}, el('summary', {}, ...name, text[0], size, text.at(-1)));
  // What is folded is made when it is opened, so that text of any depth is shown.
  const fill = () => {
    if (box.open && box.childElementCount === 1)
      box.append(el('div', { className: 'items' }, ...items.map((item) => nodeView(item, depth + 1))));
  };
  box.open = depth < OPEN_DEPTH && items.length <= MAX_OPEN_ITEMS;
  fill();
  box.addEventListener('toggle', fill);
  return box;
}

/** Buttons that copy a stored body, and the command lines that send it. */
export function copyButtons(path, command, body, authorization) {
  const quoted = `'${body.replaceAll("'", "'\\''")}'`;
  const texts = {
    JSON: body,
    curl: `curl ${location.origin}${path} ${authorization} -H 'Content-Type: application/json' --data-raw ${quoted}`,
    svc: `printf %s ${quoted} | SVC_BASE_URL=${location.origin} svc ${command}`,
  };
  const copied = el('span', { role: 'status' });
  const buttons = Object.entries(texts).map(([name, text]) =>
    button(`Copy ${name}`, async () => {
      await navigator.clipboard.writeText(text);
      copied.textContent = `Copied the ${name}.`;
    }),
  );
  return el('p', {}, ...buttons.flatMap((each) => [each, ' ']), copied);
}
