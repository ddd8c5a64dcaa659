/** A query in the SQL that both databases share: `@calls` is a table, and `?` a value. */
export interface RowQuery {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** A row of such a query; numbers may come as text. */
export type StoredRow = { readonly [column: string]: unknown };

/** Queries, each of which receives its rows, and a result. */
export type QuerySequence<Result> = Generator<RowQuery, Result, readonly StoredRow[]>;

export type RowValues = { readonly [column: string]: RowQuery['values'][number] };

/** Inserts rows with the same columns; `conflict` says what to do if they exist, and what to return. */
export function* insertRows(
  table: string,
  rows: readonly RowValues[],
  conflict = '',
): QuerySequence<readonly StoredRow[]> {
  const columns = Object.keys(rows[0] ?? {});
  const marks = rows.map(() => `(${columns.map(() => '?').join(', ')})`).join(', ');
  const sql = `insert into @${table} (${columns.join(', ')}) values ${marks} ${conflict}`;
  return yield { sql, values: rows.flatMap((row) => columns.map((name) => row[name] ?? null)) };
}

/** Sets columns of the rows that a condition selects. */
export function setColumns(table: string, columns: RowValues, where: string, values: RowQuery['values']): RowQuery {
  const names = Object.keys(columns);
  return {
    sql: `update @${table} set ${names.map((name) => `${name} = ?`).join(', ')} where ${where}`,
    values: [...names.map((name) => columns[name] ?? null), ...values],
  };
}
