// The parts of Markdown that the documents use, as GitHub renders them; anything else stays visible as text.

/** A document as HTML: headings with the anchors of GitHub, paragraphs, lists, tables, code, and blocks of HTML as they are. */
export function renderMarkdown(text: string): string {
  const lines = text.split('\n');
  const blocks: string[] = [];
  while (lines.length > 0) blocks.push(takeBlock(lines));
  return blocks.join('\n');
}

// Removes the lines of the first block, and returns its HTML.
function takeBlock(lines: string[]): string {
  const first = lines[0] ?? '';
  const [, indent = '', fence] = /^( *)(```+)/.exec(first) ?? [];
  if (fence !== undefined) {
    const end = lines.findIndex((line, at) => at > 0 && line.trim() === fence);
    const code = lines.splice(0, end + 1).slice(1, -1);
    const text = code.map((line) => line.replace(indent, '')).join('\n');
    return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
  }
  const heading = /^(#+) (.*)$/.exec(first);
  if (heading) {
    lines.shift();
    const [, { length: level } = '', title = ''] = heading;
    return `<h${level} id="${anchorOf(title)}">${renderInline(title)}</h${level}>`;
  }
  if (/^ {4}\S/.test(first)) {
    const code = takeWhile(lines, (line) => /^( {4}|$)/.test(line));
    return `<pre tabindex="0"><code>${escapeHtml(code.map((line) => line.slice(4)).join('\n'))}</code></pre>`;
  }
  if (first.startsWith('|')) return renderTable(takeWhile(lines, (line) => line.startsWith('|')));
  if (/^<[a-z!]/.test(first)) return takeWhile(lines, (line) => line !== '').join('\n');
  const item = /^(?:- |\d+\. )/.exec(first)?.[0];
  if (item !== undefined) return takeList(lines, item.startsWith('-') ? 'ul' : 'ol');
  if (first === '') {
    lines.shift();
    return '';
  }
  const paragraph = takeWhile(lines, (line) => line !== '' && !/^(```|\||#+ |- )/.test(line), 1);
  return `<p>${renderInline(paragraph.join('\n'))}</p>`;
}

// An item continues on indented lines, which may hold other blocks.
function takeList(lines: string[], tag: 'ul' | 'ol'): string {
  const start = tag === 'ul' ? /^- / : /^\d+\. /;
  const items: string[] = [];
  while (start.test(lines[0] ?? '')) {
    const [first = '', ...more] = takeWhile(lines, (line) => line === '' || line.startsWith('  '), 1);
    const width = start.exec(first)?.[0].length ?? 2;
    const inner = [first.slice(width), ...more.map((line) => line.replace(new RegExp(`^ {1,${width}}`), ''))];
    items.push(`<li>${renderMarkdown(inner.join('\n'))}</li>`);
  }
  return `<${tag}>${items.join('')}</${tag}>`;
}

function renderTable([head = '', , ...rows]: readonly string[]): string {
  const cells = (row: string): string[] => row.split(/(?<!\\)\|/).slice(1, -1);
  const row = (text: string, tag: 'th' | 'td'): string =>
    `<tr>${cells(text)
      .map((cell) => `<${tag}>${renderInline(cell.trim().replaceAll('\\|', '|'))}</${tag}>`)
      .join('')}</tr>`;
  return `<table>${row(head, 'th')}${rows.map((text) => row(text, 'td')).join('')}</table>`;
}

function takeWhile(lines: string[], isPart: (line: string) => boolean, from = 0): string[] {
  const end = lines.findIndex((line, at) => at >= from && !isPart(line));
  return lines.splice(0, end === -1 ? lines.length : end);
}

function renderInline(text: string): string {
  const parts = text.split(/(``[^`]+``|`[^`]+`)/);
  return parts
    .map((part, at) => {
      if (at % 2 === 1) return `<code>${escapeHtml(part.replace(/^`+|`+$/g, ''))}</code>`;
      return escapeHtml(part);
    })
    .join('')
    .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, '<img alt="$1" src="$2">')
    .replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\*\*(.+?)\*\*/gs, '<strong>$1</strong>')
    .replace(/&lt;(https?:[^&]+)&gt;/g, '<a href="$1">$1</a>')
    .replace(/\\&lt;/g, '&lt;');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

// As GitHub derives it from a heading.
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
