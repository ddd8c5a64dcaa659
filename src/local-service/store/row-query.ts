/** A query in the SQL that both databases share: `@calls` is a table, and `?` a value. */
export interface RowQuery {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** A row with the columns that its query selects; numbers may come as text. */
export type StoredRow = { readonly [column: string]: unknown };

/** Queries, each of which receives its rows, and a result. */
export type QuerySequence<Result> = Generator<RowQuery, Result, readonly StoredRow[]>;

export type RowValues = { readonly [column: string]: RowQuery['values'][number] };

/** The columns of a query: their names, or the expression of each. */
export type Columns = readonly string[] | { readonly [column: string]: string };

export function select(columns: Columns, from: string, values: RowQuery['values']): RowQuery {
  const expressions = isList(columns)
    ? columns
    : Object.entries(columns).map(([name, expression]) => `${expression} as ${name}`);
  return { sql: `select ${expressions.join(', ')} ${from}`, values };
}

function isList(columns: Columns): columns is readonly string[] {
  return Array.isArray(columns);
}

/** Inserts rows with the same columns; `conflict` says what to do if they exist, and `returned` are columns of those that did not. */
export function* insertRows(
  table: string,
  rows: readonly RowValues[],
  conflict = '',
  returned: readonly string[] = [],
): QuerySequence<readonly StoredRow[]> {
  const names = Object.keys(rows[0] ?? {});
  const marks = rows.map(() => `(${names.map(() => '?').join(', ')})`).join(', ');
  const returning = returned.length > 0 ? `returning ${returned.join(', ')}` : '';
  const sql = `insert into @${table} (${names.join(', ')}) values ${marks} ${conflict} ${returning}`;
  return yield { sql, values: rows.flatMap((row) => names.map((name) => row[name] ?? null)) };
}

/** Sets columns of the rows that a condition selects. */
export function setColumns(table: string, columns: RowValues, where: string, values: RowQuery['values']): RowQuery {
  const names = Object.keys(columns);
  return {
    sql: `update @${table} set ${names.map((name) => `${name} = ?`).join(', ')} where ${where}`,
    values: [...names.map((name) => columns[name] ?? null), ...values],
  };
}
