import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import PDFDocument from 'pdfkit';
import type { Evidence, EvidenceMessage } from '#domain/contacts/evidence.ts';
import type { Seal } from '#domain/contacts/record-seal.ts';
import { yielding } from '#domain/base/turns.ts';

const FONT = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'));
const BOLD = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'));

const SIZE = { title: 16, heading: 11, text: 8.5 };
const GRAY = '#555555';
const RED = '#b00020';

/** Characters that the font lacks: other scripts, and pictures. */
const NOT_IN_FONT =
  /(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Georgian}\p{scx=Hebrew}\p{scx=Arabic}\p{scx=Common}\p{scx=Inherited}])[\s\S]|[\u{10000}-\u{10ffff}]/gu;
const INVISIBLE = /[\u200b-\u200f\u2060]|\p{Variation_Selector}|(?!\n)\p{Cc}/gu;

/** What the font lacks is named by its code point. */
const printable = (text: string): string =>
  text
    .replace(INVISIBLE, '')
    .replace(NOT_IN_FONT, (character) => `[U+${character.codePointAt(0)?.toString(16).toUpperCase()}]`);

/** The evidence as a document for people, with the JSON document as an attachment. */
export function evidencePdf(evidence: Evidence, json: string): Readable {
  const document = new PDFDocument({
    size: 'A4',
    margin: 48,
    font: FONT,
    lang: 'en',
    displayTitle: true,
    info: { Title: `Evidence: ${printable(evidence.name)}`, CreationDate: new Date(evidence.generatedAt) },
  });
  document.file(Buffer.from(json), {
    name: 'evidence.json',
    type: 'application/json',
    description: 'The same as data, with the exact texts',
    creationDate: new Date(evidence.generatedAt),
  });
  write(document, evidence).then(
    () => document.end(),
    (error: unknown) => document.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return document;
}

type Document = InstanceType<typeof PDFDocument>;

/** In turns, because a contact may have thousands of messages. */
async function write(document: Document, evidence: Evidence): Promise<void> {
  const { verification, timezone } = evidence;
  const line = (text: string, color = 'black'): unknown =>
    document.font(FONT).fontSize(SIZE.text).fillColor(color).text(printable(text));
  const heading = (text: string): unknown =>
    document
      .moveDown(1)
      .font(BOLD)
      .fontSize(SIZE.heading)
      .fillColor('black')
      .text(printable(text))
      .moveDown(0.3);
  const entry = (title: string, lines: readonly (string | false | null)[], seal: Seal | null): void => {
    document.moveDown(0.5).font(BOLD).fontSize(SIZE.text).fillColor('black').text(printable(title));
    for (const text of lines) if (typeof text === 'string') line(text);
    if (seal) line(sealText(seal), seal.state === 'changed' ? RED : GRAY);
  };

  document
    .font(BOLD)
    .fontSize(SIZE.title)
    .text(printable(`Evidence: ${evidence.name || evidence.addresses.join(', ')}`));
  document.moveDown(0.5);
  line(`Addresses: ${evidence.addresses.join(', ')}`);
  line(`Workspace ${evidence.workspaceId}, contact ${evidence.leadId}`);
  line(
    `Generated at ${evidence.generatedAt}. Times are in UTC unless a zone is named; the workspace's zone is ${timezone}.`,
  );
  const { counts } = verification;
  line(
    `Verification: ${verification.result.toUpperCase()}. ${counts.intact} intact, ${counts.edited} edited, ${counts.changed} changed, ` +
      `${counts.pending} not sealed yet, ${counts.unsealed} without a seal.`,
    verification.result === 'changed' ? RED : 'black',
  );
  line(
    `The workspace's chain has ${verification.chainPosition} seals; the last is ${verification.chainHash ?? 'none'}.`,
    GRAY,
  );
  if (evidence.truncated) line('Older messages were left out.');

  heading('Consent');
  if (evidence.consents.length === 0) line('None is recorded.');
  for await (const consent of yielding(evidence.consents))
    entry(
      `${consent.at}: ${consent.status} for ${consent.channel}, ${consent.address}`,
      [
        `Source: ${consent.source}. Recorded at ${consent.recordedAt} by ${consent.recordedBy ?? 'the contact, or unknown'}.`,
        consent.evidence === null ? null : `Wording: ${consent.evidence}`,
      ],
      consent.seal,
    );

  heading('Opt-outs');
  if (evidence.optOuts.length === 0) line('None is recorded.');
  for (const optOut of evidence.optOuts)
    entry(
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

  heading('Messages');
  if (evidence.messages.length === 0) line('None.');
  for await (const message of yielding(evidence.messages))
    entry(
      `${message.acceptedAt}: ${message.channel} to ${message.to}, ${message.status}`,
      messageLines(message),
      message.seal,
    );

  heading('Audit log');
  if (evidence.audit.length === 0) line('Nothing.');
  for await (const { at, action, actor, target, reason, seal } of yielding(evidence.audit))
    entry(
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
