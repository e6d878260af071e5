import { useState } from 'react';
import { type Edits, useEdits, useUnsent } from '#console/lib/unsent.ts';
import type { Line } from '#console/lib/line.ts';
import { type Carrier, settingsOf } from './carrier-settings.ts';

export type Channel = Line['requestedChannelType'];

/** A line that is being requested or connected, as it is written. */
export interface LineDraft {
  provider: string;
  /** Empty: the first of the carrier. */
  channel: Channel | '';
  firstName: string;
  lastName: string;
  areaCode: string;
  /** By carrier, so that looking at another one loses nothing. */
  at: Record<string, AtCarrier>;
}

export interface AtCarrier {
  address: string;
  settings: Record<string, string>;
}

const NEW_LINE: LineDraft = {
  provider: '',
  channel: '',
  firstName: '',
  lastName: '',
  areaCode: '',
  at: {},
};
export const NOTHING: AtCarrier = { address: '', settings: {} };

/** What is read again after a line was requested: the next one may cost something. */
export const AFTER_A_REQUEST = [
  'GET /api/lines/by-user',
  'GET /api/line-requests/prices',
  'GET /api/workspace/setup',
] as const;

const NEW = 'line';

/** @param line that waits for its carrier; without it, the draft is of a new one. */
export function useLineDraft(carriers: readonly Carrier[], line?: Line): Edits<LineDraft> {
  const { text } = useUnsent(NEW);
  // What was written before the line was paid for is about this line.
  const [editor] = useState(() => (line && !isAbout(line, text) ? `line ${line._id}` : NEW));
  return useEdits(editor, NEW_LINE, (draft) => withoutSecrets(draft, carriers));
}

function isAbout(line: Line, text: string | null): boolean {
  if (text === null) return false;
  const { firstName, lastName } = { ...NEW_LINE, ...(JSON.parse(text) as Partial<LineDraft>) };
  return isOf(line, { firstName, lastName });
}

/** Whether the line was requested under the names. */
export const isOf = (
  line: Line,
  { firstName, lastName }: Pick<LineDraft, 'firstName' | 'lastName'>,
): boolean => line.firstName === firstName.trim() && line.lastName === lastName.trim();

const withoutSecrets = (draft: LineDraft, carriers: readonly Carrier[]): LineDraft => ({
  ...draft,
  at: Object.fromEntries(
    Object.entries(draft.at).map(([provider, { address, settings }]) => [
      provider,
      {
        address,
        settings: publicOf(
          settings,
          carriers.find((one) => one.provider === provider),
        ),
      },
    ]),
  ),
});

/** What may be stored of the settings. */
export function publicOf(values: Readonly<Record<string, string>>, carrier: Carrier | undefined) {
  const known = settingsOf(carrier).filter(({ secret }) => !secret);
  return Object.fromEntries(known.flatMap(({ name }) => (values[name] ? [[name, values[name]]] : [])));
}
