/** A Markdown table. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

// Outside of code an angle bracket would start a tag.
function escapeCell(cell: string): string {
  const plain = cell.replaceAll('|', '\\|');
  return plain.startsWith('`') ? plain : plain.replace(/`[^`]*`|</g, (part) => (part === '<' ? '\\<' : part));
}
