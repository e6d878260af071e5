import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import PDFDocument from 'pdfkit';
import type { Evidence, EvidenceMessage } from '#domain/contacts/evidence.ts';
import type { OptOutSource } from '#domain/contacts/opt-out.ts';
import type { Seal } from '#domain/contacts/record-seal.ts';
import { nextTurn, runInTurns } from '#domain/base/turns.ts';

const FONT = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'));
const BOLD = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'));

const SIZE = { title: 16, heading: 11, text: 8.5, footer: 7 };
const GRAY = '#555555';
const RED = '#b00020';

/** Characters that the font lacks: other scripts, and pictures. */
const NOT_IN_FONT =
  /(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Georgian}\p{scx=Hebrew}\p{scx=Arabic}\p{scx=Common}\p{scx=Inherited}])[\s\S]|[\u{10000}-\u{10ffff}]/gu;
/** Those that change the direction of what follows are named as well: a phone shows another order of letters than this document. */
const INVISIBLE = /[\u200b-\u200d\u2060]|\p{Variation_Selector}|(?!\n)\p{Cc}/gu;
const DIRECTION = /\p{Bidi_Control}/gu;

/** More fit on no line. The time to break a word that is longer than its line grows with the square of its length. */
const LONGEST_WORD = /[^\s\u200b]{40}/gu;
/** What is laid out in one piece of work, in characters. */
const LONGEST_PIECE = /[\s\S]{1,2000}/gu;

const LEFTWARD = String.raw`\p{Script=Hebrew}\p{Script=Arabic}`;
/** Where letters of two directions meet in a word. The library would write the whole word in the direction of its first letter. */
const TURN = new RegExp(
  String.raw`([${LEFTWARD}][^\s\p{L}\p{N}]*)(?=(?![${LEFTWARD}])[\p{L}\p{N}])|((?![${LEFTWARD}])[\p{L}\p{N}][^\s\p{L}\p{N}]*)(?=[${LEFTWARD}])`,
  'gu',
);

const named = (character: string): string => `[U+${character.codePointAt(0)?.toString(16).toUpperCase()}]`;

/** What the font lacks is named by its code point. Long words may break, and words of two directions do. */
export const printable = (text: string): string =>
  text
    .replace(INVISIBLE, '')
    .replace(DIRECTION, named)
    .replace(NOT_IN_FONT, named)
    .replace(TURN, '$& ')
    .replace(LONGEST_WORD, '$&\u200b');

/** The evidence as a document for people, with the JSON document as an attachment. */
export function evidencePdf(evidence: Evidence, json: Buffer): Readable {
  const document = new PDFDocument({
    size: 'A4',
    margin: 48,
    font: FONT,
    lang: 'en',
    displayTitle: true,
    info: { Title: `Evidence: ${printable(evidence.name)}`, CreationDate: new Date(evidence.generatedAt) },
  });
  const complete = async (): Promise<void> => {
    await attach(document, json, evidence.generatedAt);
    await runInTurns(write(document, evidence));
    // Its fonts are embedded then.
    await nextTurn();
  };
  complete().then(
    () => document.end(),
    (error: unknown) => document.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return document;
}

type Document = InstanceType<typeof PDFDocument>;

/** The library would compress it on the event loop. */
async function attach(document: Document, json: Buffer, generatedAt: string): Promise<void> {
  const file = document.ref({
    Type: 'EmbeddedFile',
    Subtype: 'application#2Fjson',
    Filter: 'FlateDecode',
    Params: { Size: json.length, CreationDate: new Date(generatedAt) },
  });
  file.end(await promisify(deflate)(json));
  const name = 'evidence.json';
  // Strings of the document are objects; others are names.
  const text = (value: string): object => Object(value) as object;
  const description = document.ref({
    Type: 'Filespec',
    AFRelationship: 'Data',
    F: text(name),
    UF: text(name),
    EF: { F: file },
    Desc: text('The same as data, with the exact texts'),
  });
  description.end('');
  document.addNamedEmbeddedFile(name, description);
}

const WHEN = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' });
/** `24 December 2026 at 10:00:05 UTC`. The attached data has the exact times. */
const when = (at: string): string => `${WHEN.format(new Date(at))} UTC`;

const inWords = (code: string): string => code.replaceAll('_', ' ');

const plural = (count: number, one: string, many = `${one}s`): string =>
  count === 1 ? `1 ${one}` : `${count.toLocaleString('en')} ${many}`;

const CHANNELS = { imessage: 'iMessage', sms: 'SMS', email: 'email' };
const CONSENT_CHANNELS = { ...CHANNELS, any: 'every channel' };
const CONSENT_SOURCES = {
  form: 'a form',
  import: 'an import',
  keyword: 'a keyword that the contact wrote',
  verbal: 'spoken words',
  api: 'a program',
};
const OPT_OUT_SOURCES: Record<OptOutSource, string> = {
  reply: 'by a reply',
  unsubscribe: 'by the unsubscribe link',
  carrier: 'as the carrier reported',
  complaint: 'by reporting an email as spam',
  api: 'as a person or program of the workspace recorded',
};
const VERIFIED = {
  intact: 'NOTHING WAS CHANGED',
  incomplete: 'INCOMPLETE',
  changed: 'SOMETHING WAS CHANGED',
};

/** What it says in short, for whom the rest is proof. */
function summary({ consents, optOuts, messages, truncated }: Evidence): string[] {
  const granted = consents.filter(({ status }) => status === 'granted');
  const [first] = granted;
  const sent = messages.flatMap(({ sentAt }) => sentAt ?? []);
  const [from, to] = [sent[0], sent.at(-1)];
  return [
    first
      ? `Consent: granted ${granted.length === 1 ? 'once' : `${granted.length} times, first`} on ${when(first.at)}, by ${CONSENT_SOURCES[first.source]}.`
      : 'Consent: none is recorded.',
    `Messages: ${plural(messages.length, 'message')} to the contact${from && to ? `, of which ${sent.length} were sent between ${when(from)} and ${when(to)}` : ', none of which was sent'}.${
      truncated ? ' Older messages were left out.' : ''
    }`,
    ...(optOuts.length === 0 ? ['Opt-outs: the contact has never opted out.'] : []),
    ...optOuts.map(
      (optOut) => `Opt-out: ${when(optOut.at)}, ${OPT_OUT_SOURCES[optOut.source]}. ${leftText(optOut)}`,
    ),
  ];
}

const leftText = ({ messagesAfter, secondsUntilNothingLeft }: Evidence['optOuts'][number]): string =>
  messagesAfter === 0
    ? 'No message was sent after it.'
    : `${plural(messagesAfter, 'message')} left after it, the last ${plural(secondsUntilNothingLeft, 'second')} later.`;

/** What the seals are, and what they say. */
function sealsText({ verification }: Evidence): string[] {
  const { counts, chainPosition, chainHash } = verification;
  const found = [
    `${plural(counts.intact, 'record')} as recorded`,
    counts.edited > 0 && `${counts.edited} whose text was edited or taken back later, as the audit log says`,
    counts.changed > 0 && `${counts.changed} changed without a trace in the audit log, marked in red`,
    counts.pending > 0 && `${counts.pending} from the last minutes, which have no seal yet`,
    counts.unsealed > 0 && `${counts.unsealed} without the seal that they should have`,
  ].filter((part) => typeof part === 'string');
  return [
    'Within about ten minutes, the server seals each consent, message and entry of its audit log: it computes a fingerprint of the content, ' +
      'and one of that and of the seal before it, with a key that is not readable in the database. If a record or a seal is changed, added or ' +
      'removed in the database afterwards, the fingerprints no longer match. They were computed again for this document:',
    `${found.join('; ')}.`,
    chainHash === null
      ? 'The workspace has no seals yet.'
      : `The workspace has ${plural(chainPosition, 'seal')}. The fingerprint of the last is ${chainHash}: whoever notes it today can show later that no record before it was exchanged.`,
    'Seals do not cover what carriers report later (delivered, read), nor opt-outs apart from the consents that record them.',
    'The file evidence.json, which is attached to this PDF, has the same as data, with the exact times and texts.',
  ];
}

/** In turns, because a contact may have thousands of messages, and long ones. */
function* write(document: Document, evidence: Evidence): Generator<void> {
  const { verification, timezone, workspaceName } = evidence;
  function* line(text: string, color = 'black'): Generator<void> {
    document.font(FONT).fontSize(SIZE.text).fillColor(color);
    const pieces = printable(text).match(LONGEST_PIECE) ?? [''];
    for (const [index, piece] of pieces.entries()) {
      document.text(piece, { continued: index < pieces.length - 1 });
      yield;
    }
  }
  function* heading(text: string): Generator<void> {
    document
      .moveDown(1)
      .font(BOLD)
      .fontSize(SIZE.heading)
      .fillColor('black')
      .text(printable(text))
      .moveDown(0.3);
    yield;
  }
  function* entry(
    title: string,
    lines: readonly (string | false | null)[],
    seal: Seal | null,
  ): Generator<void> {
    document.moveDown(0.5).font(BOLD).fontSize(SIZE.text).fillColor('black').text(printable(title));
    yield;
    for (const text of lines) if (typeof text === 'string') yield* line(text);
    if (seal) yield* line(sealText(seal), seal.state === 'changed' ? RED : GRAY);
  }
  numberPages(document, `${evidence.name || evidence.leadId}, ${when(evidence.generatedAt)}`);

  document
    .font(BOLD)
    .fontSize(SIZE.title)
    .fillColor('black')
    .text(printable(`Evidence: ${evidence.name || evidence.addresses.join(', ')}`));
  document.moveDown(0.5);
  yield* line(
    `How ${workspaceName} has treated ${evidence.name || 'this contact'} (${evidence.addresses.join(', ')}), by its records on ${when(evidence.generatedAt)}.`,
  );
  yield* line(
    `Times are in UTC unless a zone is named; ${workspaceName} is in ${timezone}. Workspace ${evidence.workspaceId}, contact ${evidence.leadId}.`,
    GRAY,
  );

  yield* heading('Summary');
  for (const text of summary(evidence)) yield* line(text);
  yield* line(
    `Records: ${VERIFIED[verification.result]}. See “Seals” for what that means.`,
    verification.result === 'intact' ? 'black' : RED,
  );

  yield* heading('Seals');
  for (const text of sealsText(evidence)) yield* line(text);

  yield* heading('Consent');
  if (evidence.consents.length === 0) yield* line('None is recorded.');
  for (const consent of evidence.consents)
    yield* entry(
      `${when(consent.at)}: ${consent.status} for ${CONSENT_CHANNELS[consent.channel]}, ${consent.address}`,
      [
        consent.evidence === null ? null : `Wording or evidence: ${consent.evidence}`,
        `By ${CONSENT_SOURCES[consent.source]}, recorded on ${when(consent.recordedAt)} by ${consent.recordedBy ?? 'the contact, or unknown'}.`,
      ],
      consent.seal,
    );

  yield* heading('Opt-outs');
  if (evidence.optOuts.length === 0) yield* line('None is recorded.');
  for (const optOut of evidence.optOuts)
    yield* entry(
      `${when(optOut.at)}: ${optOut.address} opted out, ${OPT_OUT_SOURCES[optOut.source]}`,
      [
        optOut.text === null ? null : `The contact wrote: ${optOut.text}`,
        leftText(optOut),
        optOut.endedAt === null ? null : `Opted in again on ${when(optOut.endedAt)}.`,
      ],
      null,
    );

  yield* heading('Messages to the contact');
  if (evidence.messages.length === 0) yield* line('None.');
  for (const message of evidence.messages)
    yield* entry(
      `${when(message.acceptedAt)}: ${CHANNELS[message.channel]} to ${message.to}${message.from === null ? '' : ` from ${message.from}`}, ${message.status}`,
      messageLines(message),
      message.seal,
    );

  yield* heading('Audit log');
  if (evidence.audit.length === 0) yield* line('Nothing.');
  for (const { at, action, actor, target, reason, seal } of evidence.audit)
    yield* entry(
      `${when(at)}: ${action}`,
      [
        `By ${actor.type} ${actor.name ?? actor.id ?? ''}, about ${target.type} ${target.id}.`,
        reason === null ? null : `Reason: ${reason}`,
      ],
      seal,
    );
}

/** Below the text of each page. The library would begin another page for what is outside of the margins. */
function numberPages(document: Document, text: string): void {
  let page = 0;
  const write = (): void => {
    page += 1;
    const { margins, height } = document.page;
    const { x, y } = document;
    const { bottom } = margins;
    margins.bottom = 0;
    document
      .font(FONT)
      .fontSize(SIZE.footer)
      .fillColor(GRAY)
      .text(printable(`${text}, page ${page}`), margins.left, height - bottom / 2, { lineBreak: false });
    margins.bottom = bottom;
    document.x = x;
    document.y = y;
  };
  write();
  document.on('pageAdded', write);
}

const AUTHORS: Record<string, string> = {
  api: 'a program',
  campaign: 'a campaign',
  inbox: 'a person in the inbox',
  rule: 'a rule of the workspace',
  autopilot: 'the autopilot',
  device: 'a person on the phone or computer of the line',
  crm: 'a person in the CRM',
};

function messageLines(message: EvidenceMessage): (string | null)[] {
  const { wrote, approved, released } = message;
  const author = wrote.name ?? wrote.userId;
  const drafted = wrote.draftSource === null ? '' : `, drafted by ${wrote.model ?? wrote.draftSource}`;
  const told = (at: string | null): string => (at === null ? 'not reported' : when(at));
  return [
    message.subject === null ? null : `Subject: ${message.subject}`,
    `Text: ${message.text}`,
    message.attachmentNames.length === 0 ? null : `Files: ${message.attachmentNames.join(', ')}`,
    `Written by ${AUTHORS[wrote.source] ?? wrote.source}${author === null ? '' : `, ${author}`}${drafted}.`,
    approved &&
      `Approved by ${approved.by ?? 'nobody'} (${inWords(approved.channel ?? 'no channel')}), ${approved.at === null ? 'at an unknown time' : when(approved.at)}.`,
    released && releasedText(released),
    message.editedAt === null ? null : `Edited on ${when(message.editedAt)}.`,
    message.unsentAt === null ? null : `Taken back on ${when(message.unsentAt)}.`,
    message.sentAt === null
      ? 'It was not sent.'
      : `Sent ${when(message.sentAt)}; delivered: ${told(message.deliveredAt)}; read: ${told(message.readAt)}.`,
    message.errorMessage === null ? null : `Error: ${message.errorMessage}`,
  ];
}

const RULES = {
  quiet_hours: 'That was within the hours in which the recipient may get messages',
  answer: 'The recipient had written within 24 hours before',
  none: 'No quiet hours apply to it',
  outside_current_quiet_hours: 'That is outside the hours that are set today',
} as const;

function releasedText(released: NonNullable<EvidenceMessage['released']>): string {
  const { quietHours, window, rulesChangedAt, delays } = released;
  const local = released.local.map(({ timezone, time }) => `${time} in ${timezone}`).join(', ');
  return [
    `Left ${when(released.at)}, which was ${local}, through ${released.carrier}. ${RULES[released.rule]}`,
    quietHours &&
      ` (${quietHours.start} to ${quietHours.end}${quietHours.law === null ? '' : `, law of ${quietHours.law}`})`,
    window &&
      `, and within its own send window, ${window.start ?? '00:00'} to ${window.end ?? '24:00'} in ${window.timezone}`,
    '.',
    rulesChangedAt !== null &&
      ` The hours were changed on ${when(rulesChangedAt)}, so that others may have applied when it left.`,
    ...delays.map(
      ({ from, to, reason }) => ` It had been moved from ${when(from)} to ${when(to)}: ${inWords(reason)}.`,
    ),
  ]
    .filter((part) => typeof part === 'string')
    .join('');
}

const SEALS = {
  intact: 'as recorded',
  edited: 'the text was edited or taken back later',
  changed: 'CHANGED: it is not what was recorded',
  pending: 'none yet, it is from the last minutes',
  unsealed: 'missing',
};

const sealText = ({ state, position, hash, sealedAt }: Seal): string =>
  position === null || sealedAt === null
    ? `Seal: ${SEALS[state]}.`
    : `Seal: ${SEALS[state]}. Number ${position}, ${when(sealedAt)}, ${hash}.`;
