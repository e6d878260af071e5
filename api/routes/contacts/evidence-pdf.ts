import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import PDFDocument from 'pdfkit';
import type { Evidence, EvidenceMessage } from '#domain/contacts/evidence.ts';
import type { Seal } from '#domain/contacts/record-seal.ts';
import { nextTurn, runInTurns } from '#domain/base/turns.ts';

const FONT = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'));
const BOLD = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'));

const SIZE = { title: 16, heading: 11, text: 8.5 };
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

/** In turns, because a contact may have thousands of messages, and long ones. */
function* write(document: Document, evidence: Evidence): Generator<void> {
  const { verification, timezone } = evidence;
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

  document
    .font(BOLD)
    .fontSize(SIZE.title)
    .text(printable(`Evidence: ${evidence.name || evidence.addresses.join(', ')}`));
  document.moveDown(0.5);
  yield* line(`Addresses: ${evidence.addresses.join(', ')}`);
  yield* line(`Workspace ${evidence.workspaceId}, contact ${evidence.leadId}`);
  yield* line(
    `Generated at ${evidence.generatedAt}. Times are in UTC unless a zone is named; the workspace's zone is ${timezone}.`,
  );
  const { counts } = verification;
  yield* line(
    `Verification: ${verification.result.toUpperCase()}. ${counts.intact} intact, ${counts.edited} edited, ${counts.changed} changed, ` +
      `${counts.pending} not sealed yet, ${counts.unsealed} without a seal.`,
    verification.result === 'changed' ? RED : 'black',
  );
  yield* line(
    `The workspace's chain has ${verification.chainPosition} seals; the last is ${verification.chainHash ?? 'none'}.`,
    GRAY,
  );
  if (evidence.truncated) yield* line('Older messages were left out.');

  yield* heading('Consent');
  if (evidence.consents.length === 0) yield* line('None is recorded.');
  for (const consent of evidence.consents)
    yield* entry(
      `${consent.at}: ${consent.status} for ${consent.channel}, ${consent.address}`,
      [
        `Source: ${consent.source}. Recorded at ${consent.recordedAt} by ${consent.recordedBy ?? 'the contact, or unknown'}.`,
        consent.evidence === null ? null : `Wording: ${consent.evidence}`,
      ],
      consent.seal,
    );

  yield* heading('Opt-outs');
  if (evidence.optOuts.length === 0) yield* line('None is recorded.');
  for (const optOut of evidence.optOuts)
    yield* entry(
      `${optOut.at}: ${optOut.address} opted out (${optOut.source})`,
      [
        optOut.text === null ? null : `The contact wrote: ${optOut.text}`,
        optOut.messagesAfter === 0
          ? 'Nothing left after it.'
          : `${optOut.messagesAfter} left after it, the last ${optOut.secondsUntilNothingLeft} seconds later.`,
        optOut.endedAt === null ? null : `Opted in again at ${optOut.endedAt}.`,
      ],
      null,
    );

  yield* heading('Messages');
  if (evidence.messages.length === 0) yield* line('None.');
  for (const message of evidence.messages)
    yield* entry(
      `${message.acceptedAt}: ${message.channel} to ${message.to}, ${message.status}`,
      messageLines(message),
      message.seal,
    );

  yield* heading('Audit log');
  if (evidence.audit.length === 0) yield* line('Nothing.');
  for (const { at, action, actor, target, reason, seal } of evidence.audit)
    yield* entry(
      `${at}: ${action}`,
      [
        `By ${actor.type} ${actor.name ?? actor.id ?? ''}, about ${target.type} ${target.id}.`,
        reason === null ? null : `Reason: ${reason}`,
      ],
      seal,
    );
}

function messageLines(message: EvidenceMessage): (string | null)[] {
  const { wrote, approved, released } = message;
  const author = wrote.name ?? wrote.userId;
  const drafted = wrote.draftSource === null ? '' : `, drafted by ${wrote.model ?? wrote.draftSource}`;
  return [
    message.subject === null ? null : `Subject: ${message.subject}`,
    message.text,
    message.attachmentNames.length === 0 ? null : `Files: ${message.attachmentNames.join(', ')}`,
    `Written: ${wrote.source}${author === null ? '' : ` by ${author}`}${drafted}.`,
    approved &&
      `Approved by ${approved.by ?? 'nobody'} (${approved.channel ?? 'no channel'}) at ${approved.at ?? 'an unknown time'}.`,
    released && releasedText(released),
    message.editedAt === null ? null : `Edited at ${message.editedAt}.`,
    message.unsentAt === null ? null : `Taken back at ${message.unsentAt}.`,
    `Sent ${message.sentAt ?? 'not'}, delivered ${message.deliveredAt ?? 'not reported'}, read ${message.readAt ?? 'not reported'}.`,
    message.errorMessage === null ? null : `Error: ${message.errorMessage}`,
  ];
}

const RULES = {
  quiet_hours: 'within the hours in which the recipient may get messages',
  answer: 'the recipient had written within 24 hours',
  none: 'no quiet hours apply to it',
  outside_current_quiet_hours: 'outside the quiet hours of today',
} as const;

function releasedText(released: NonNullable<EvidenceMessage['released']>): string {
  const { quietHours, window, rulesChangedAt, delays } = released;
  const local = released.local.map(({ timezone, time }) => `${time} in ${timezone}`).join(', ');
  return [
    `Left at ${released.at}, ${local}, through ${released.carrier}: ${RULES[released.rule]}`,
    quietHours &&
      ` (${quietHours.start} to ${quietHours.end}${quietHours.law === null ? '' : `, law of ${quietHours.law}`})`,
    window && `, send window ${window.start ?? '00:00'} to ${window.end ?? '24:00'} in ${window.timezone}`,
    rulesChangedAt !== null && `. The hours were changed at ${rulesChangedAt}`,
    '.',
    ...delays.map(({ from, to, reason }) => ` ${reason} had moved it from ${from} to ${to}.`),
  ]
    .filter((part) => typeof part === 'string')
    .join('');
}

const sealText = ({ state, position, hash, sealedAt }: Seal): string =>
  position === null ? `Seal: ${state}.` : `Seal: ${state}, number ${position} of ${sealedAt}, ${hash}.`;
