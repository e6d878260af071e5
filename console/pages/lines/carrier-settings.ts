import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { wordsOf } from '#console/lib/format.ts';
import { hintOf } from './carrier-guides.ts';

export type Carrier = ResponseOf<'GET /api/lines/carriers'>['carriers'][number];

/** One setting of a carrier, as its form shows it. */
export interface Setting {
  name: string;
  label: string;
  /** What the carrier's schema says about it. */
  hint: string | undefined;
  required: boolean;
  /** Few need it. */
  advanced: boolean;
  /** Shown as dots; it has to be entered each time. */
  secret: boolean;
  options?: { value: string; label: string }[];
  /** The value that the API takes; undefined where nothing was entered. */
  parse: (text: string) => unknown;
}

interface Property {
  type?: string;
  enum?: string[];
  secret?: boolean;
  description?: string;
}

/** The settings in the JSON Schema of a carrier. */
export function settingsOf(carrier: Carrier | undefined): Setting[] {
  if (!carrier) return [];
  const { provider, settings: schema } = carrier;
  const properties = (schema['properties'] ?? {}) as Record<string, Property>;
  const required = (schema['required'] ?? []) as string[];
  return Object.entries(properties).map(([name, property]) => ({
    name,
    label: labelOf(name),
    hint: hintOf(provider, name, property.description),
    // A secret of callbacks that is left out is generated.
    required: required.includes(name) && name !== 'callbackSecret',
    advanced: !required.includes(name) && ADVANCED.has(name),
    secret: property.secret === true,
    ...optionsOf(property),
    parse: parserOf(property),
  }));
}

/** Settings with a default that fits almost everybody, and other ways to say the same. */
const ADVANCED: ReadonlySet<string> = new Set([
  'authservId',
  'baseUrl',
  'caCertificates',
  'callbackSecret',
  'dkimSelector',
  'ehloName',
  'inboundSecret',
  'url',
]);

/** The labels of the settings that carriers have. */
const LABELS: Record<string, MessageDescriptor> = {
  accountSid: msg`Account SID`,
  authservId: msg`Name in Authentication-Results`,
  caCertificates: msg`Certificate authorities`,
  ehloName: msg`Host name in the greeting`,
  authToken: msg`Auth token`,
  baseUrl: msg`Base URL`,
  callbackSecret: msg`Callback secret`,
  dkimSelector: msg`DKIM selector`,
  from: msg`From`,
  host: msg`Host`,
  imapUrl: msg`IMAP URL`,
  inboundSecret: msg`Inbound secret`,
  messagingServiceSid: msg`Messaging service SID`,
  method: msg`Method`,
  password: msg`Password`,
  port: msg`Port`,
  secure: msg`Secure`,
  url: msg`URL`,
  user: msg`User`,
};

/** The label of an unknown setting is derived from its name: `replyTo` → Reply to */
export function labelOf(name: string): string {
  const label = LABELS[name];
  return label ? i18n._(label) : wordsOf(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}

function optionsOf({ type, enum: values }: Property): Pick<Setting, 'options'> {
  if (values) return { options: values.map((value) => ({ value, label: wordsOf(value) })) };
  if (type !== 'boolean') return {};
  return {
    options: [
      { value: 'true', label: t`Yes` },
      { value: 'false', label: t`No` },
    ],
  };
}

function parserOf({ type }: Property): Setting['parse'] {
  return (text) => {
    if (text === '') return undefined;
    if (type === 'boolean') return text === 'true';
    return type === 'integer' || type === 'number' ? Number(text) : text;
  };
}

/** The settings in what was entered. */
export const configOf = (
  settings: readonly Setting[],
  values: Readonly<Record<string, string>>,
): Record<string, unknown> =>
  Object.fromEntries(
    settings.flatMap(({ name, parse }) => {
      const value = parse(values[name] ?? '');
      return value === undefined ? [] : [[name, value] as const];
    }),
  );

/** What is known of the current settings; secrets are not. */
export const valuesOf = (config: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(config).flatMap(([name, value]) => (isMasked(value) ? [] : [[name, String(value)]])),
  );

const isMasked = (value: unknown): boolean => typeof value === 'string' && /^•+$/.test(value);
