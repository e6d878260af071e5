import { pipeline, type Readable, type TransformOptions } from 'node:stream';
// oxlint-disable-next-line no-restricted-imports -- this is the one place
import { CsvError, type Options, parse } from 'csv-parse';
import { decodeText } from '#domain/base/character-encoding.ts';
import { currentTime } from '#domain/base/clock.ts';
import { type RowConsent, rowConsent } from '#domain/contacts/consent.ts';
import {
  cellOf,
  type ColumnMap,
  columnsProblem,
  type ImportPreview,
  mapColumns,
  readRow,
  type RejectedRow,
} from '#domain/contacts/lead-import.ts';
import {
  type LeadInput,
  type NormalizedLead,
  normalizeLead,
  type PhoneDefaults,
} from '#domain/contacts/lead.ts';
import { csvDialect, hasHeaderLine } from '#domain/shared/csv-dialect.ts';
import { yielding } from '#domain/base/turns.ts';

/** A longer row means a quote that was never closed. */
const MAX_ROW_BYTES = 200_000;
const MAX_HEADER_CHARACTERS = 64 * 1024;
/** Of the header, before it is looked at what they are. */
const MAX_COLUMNS = 1000;
/** The parser reads a piece at once: other work gets turns between them. */
const PIECE_CHARACTERS = 4 * 1024;

/** A row of a file. `rowNumber` is as a spreadsheet counts: the header is row 1. */
export type LeadRow =
  | { lead: NormalizedLead; input: LeadInput; consent: RowConsent | null; rowNumber: number; cells: string[] }
  | { rejected: RejectedRow };

/** The rest of the file cannot be imported; the message says why. */
export class UnreadableFile extends Error {}

export interface LeadFile {
  delimiter: string;
  columns: ColumnMap;
  /** The rows after the header and `skipped` others, one by one: reading pauses until the next is asked for. @throws UnreadableFile */
  rows: (skipped: number) => AsyncGenerator<LeadRow>;
}

/** Opens a CSV file of leads, in any of the encodings and dialects in which spreadsheets save it. @throws UnreadableFile if it has no header. */
export async function openLeadFile(file: Readable, defaults: PhoneDefaults): Promise<LeadFile> {
  const text = decodeText(file);
  let start = '';
  for (let isKnown = false; !isKnown && start.length < MAX_HEADER_CHARACTERS;) {
    const next = await text.next();
    if (next.done) break;
    start += next.value;
    isKnown = /[\r\n]/.test(next.value) && hasHeaderLine(start);
  }
  const { delimiter, headerStart } = csvDialect(start);
  let onAllRead = (): void => {};
  async function* fromHeader(): AsyncGenerator<string> {
    yield* inPieces(start.slice(headerStart));
    for await (const next of text) yield* inPieces(next);
    // An error at the end of the file would discard the rows above it.
    if (parser.readableLength > 0) await new Promise<void>((resolve) => (onAllRead = resolve));
  }
  const options: Options & TransformOptions = {
    delimiter,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    // Files that were put together have several.
    record_delimiter: ['\r\n', '\n', '\r'],
    // Behind a quote, the parser takes nothing but a delimiter for its end: `"The" Company` is a cell.
    ltrim: true,
    max_record_size: MAX_ROW_BYTES,
    // The pieces that wait when the file ends are read at once.
    writableHighWaterMark: 1,
  };
  const parser = parse(options);
  // The parser passes an error of the file on to its reader.
  const records = pipeline(
    () => yielding(fromHeader()),
    parser,
    () => {},
  )[Symbol.asyncIterator]() as AsyncIterator<string[]>;
  let rowNumber = 0;
  const nextRecord = async (): Promise<string[] | null> => {
    try {
      const { done, value } = await records.next();
      if (parser.readableLength === 0) onAllRead();
      rowNumber += 1;
      return done ? null : value.map(trimmed);
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      throw new UnreadableFile(storable(`row ${rowNumber + 1}: ${error.message}`));
    }
  };
  const header = await nextRecord();
  if (!header) throw new UnreadableFile('the file is empty');
  if (header.length > MAX_COLUMNS)
    throw new UnreadableFile(`the first row has ${header.length} columns; at most ${MAX_COLUMNS} are read`);
  const columns = mapColumns(header);
  async function* following(): AsyncGenerator<string[]> {
    for (let cells = await nextRecord(); cells; cells = await nextRecord()) yield cells;
  }
  return {
    delimiter,
    columns,
    async *rows(skipped) {
      const problem = columnsProblem(columns);
      if (problem !== null) throw new UnreadableFile(problem);
      for await (const cells of yielding(following()))
        if (rowNumber - 1 > skipped) yield readLead(rowNumber, cells, columns, defaults);
    },
  };
}

/** A cell without the spaces behind it, and without the quotes that spaces followed. */
const trimmed = (cell: string): string => {
  const text = cell.trimEnd();
  return text.length < cell.length && /^"[^"]*"$/.test(text) ? text.slice(1, -1).trim() : text;
};

function* inPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) yield text.slice(at, at + PIECE_CHARACTERS);
}

const PREVIEWED_ROWS = 20;

/** What an import of a file would make of its first rows. */
export async function previewLeads(file: Readable, defaults: PhoneDefaults): Promise<ImportPreview> {
  const rows: LeadRow[] = [];
  let opened: LeadFile | null = null;
  let error: string | null = null;
  try {
    opened = await openLeadFile(file, defaults);
    for await (const row of opened.rows(0)) {
      rows.push(row);
      if (rows.length === PREVIEWED_ROWS) break;
    }
  } catch (failure) {
    if (!(failure instanceof UnreadableFile)) throw failure;
    error = failure.message;
  }
  const cells = rows.map((row) => ('rejected' in row ? row.rejected.fields : row.cells));
  const { columns, fields } = opened?.columns ?? { columns: [], fields: [] };
  return {
    delimiter: opened?.delimiter ?? ',',
    columns: columns.map((name, index) => ({
      name: storable(name),
      field: fields[index] ?? null,
      example: cells.find((row) => row[index])?.[index] ?? '',
    })),
    rows: rows.map((row) =>
      'rejected' in row
        ? { rowNumber: row.rejected.rowNumber, lead: null, reason: row.rejected.reason }
        : { rowNumber: row.rowNumber, lead: leadOf(row), reason: null },
    ),
    error,
  };
}

/** A lead as it would be saved. */
const leadOf = ({ input, lead }: Extract<LeadRow, { lead: NormalizedLead }>): LeadInput => ({
  ...input,
  emails: lead.emails,
  phones: lead.phones,
});

/** Replaces NUL, which PostgreSQL cannot store in a text. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD');

/** The column of a field: `emails.1` of a lead is `email` of a row. */
const column = (field: string): string => field.replace(/s\.\d+$/, '');

function readLead(rowNumber: number, cells: string[], columns: ColumnMap, defaults: PhoneDefaults): LeadRow {
  const input = readRow(cells, columns);
  const rejected = (reason: string): LeadRow => ({
    rejected: { rowNumber, reason, fields: cells.map(storable) },
  });
  if ('reason' in input) return rejected(input.reason);
  const { lead, problems } = normalizeLead(input, defaults);
  if (problems.length > 0)
    return rejected(problems.map(({ field, message }) => `${column(field)}: ${message}`).join('; '));
  try {
    const [source, at] = (['consentSource', 'consentAt'] as const).map((field) =>
      cellOf(cells, columns, field),
    );
    return { lead, input, consent: rowConsent(source ?? '', at ?? '', currentTime()), rowNumber, cells };
  } catch (error) {
    if (error instanceof RangeError) return rejected(error.message);
    throw error;
  }
}
