/** A query in the SQL that both databases share: `@calls` is a table, and `?` a value. */
export interface RowQuery<Column extends string = never> {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
  /** Those of its rows; a query without them reads none. */
  readonly columns?: readonly Column[];
}

/** A row of such a query; numbers may come as text. */
export type StoredRow<Column extends string> = { readonly [column in Column]: unknown };

type AnyRow = StoredRow<string>;

/** Queries, each of which receives its rows, and a result. */
export type QuerySequence<Result> = Generator<RowQuery<string>, Result, readonly AnyRow[]>;

export type RowValues = { readonly [column: string]: RowQuery['values'][number] };

/** The columns of a query: their names, or the expression of each. */
export type Columns<Column extends string> = readonly Column[] | { readonly [column in Column]: string };

export function select<Column extends string>(
  columns: Columns<Column>,
  from: string,
  values: RowQuery['values'],
): RowQuery<Column> {
  if (isList(columns)) return { sql: `select ${columns.join(', ')} ${from}`, values, columns };
  const names = Object.entries<string>(columns).map(([name, expression]) => `${expression} as ${name}`);
  return {
    sql: `select ${names.join(', ')} ${from}`,
    values,
    columns: Object.keys(columns).filter((name): name is Column => name in columns),
  };
}

function isList<Column extends string>(columns: Columns<Column>): columns is readonly Column[] {
  return Array.isArray(columns);
}

/** The rows of a query with the type that its columns give them. */
export function typedRows<Column extends string>(
  rows: readonly AnyRow[],
  { columns = [], sql }: RowQuery<Column>,
): readonly StoredRow<Column>[] {
  return rows.map((row) => {
    if (hasColumns(row, columns)) return row;
    throw new Error(`a row lacks one of ${columns.join(', ')}: ${sql}`);
  });
}

function hasColumns<Column extends string>(row: AnyRow, columns: readonly Column[]): row is AnyRow & StoredRow<Column> {
  return columns.every((name) => name in row);
}

/** The rows of a query in a sequence. */
export function* rowsOf<Column extends string>(query: RowQuery<Column>): QuerySequence<readonly StoredRow<Column>[]> {
  return typedRows(yield query, query);
}

/** Inserts rows with the same columns; `conflict` says what to do if they exist, and `returned` are columns of those that did not. */
export function* insertRows<Column extends string = never>(
  table: string,
  rows: readonly RowValues[],
  conflict = '',
  returned: readonly Column[] = [],
): QuerySequence<readonly StoredRow<Column>[]> {
  const names = Object.keys(rows[0] ?? {});
  const marks = rows.map(() => `(${names.map(() => '?').join(', ')})`).join(', ');
  const returning = returned.length > 0 ? `returning ${returned.join(', ')}` : '';
  const sql = `insert into @${table} (${names.join(', ')}) values ${marks} ${conflict} ${returning}`;
  const values = rows.flatMap((row) => names.map((name) => row[name] ?? null));
  return yield* rowsOf({ sql, values, columns: returned });
}

/** Sets columns of the rows that a condition selects. */
export function setColumns(table: string, columns: RowValues, where: string, values: RowQuery['values']): RowQuery {
  const names = Object.keys(columns);
  return {
    sql: `update @${table} set ${names.map((name) => `${name} = ?`).join(', ')} where ${where}`,
    values: [...names.map((name) => columns[name] ?? null), ...values],
  };
}
