import { expect, test } from 'vitest';
import { isAutomaticEmail, isAutomaticSubject } from './automatic-email.ts';
import { InboundEmail } from './inbound-email.ts';
import { authenticationOf } from './sender-authentication.ts';

test.each([
  'Automatic reply: Our offer',
  'Automatische Antwort: Our offer',
  'Abwesenheitsnotiz: Our offer',
  'Réponse automatique : Our offer',
  'Absence du bureau Re: Our offer',
  'Respuesta automática: Our offer',
  'Fuera de la oficina: Our offer',
  'Resposta automática: Our offer',
  'Fora do escritório: Our offer',
  'Risposta automatica: Our offer',
  'Fuori ufficio',
  'Automatisch antwoord: Our offer',
  'Afwezig: Our offer',
  'Out of Office: Our offer',
  'Out of office until 14 December',
  'OUT OF OFFICE AutoReply: Our offer',
  'Ich bin bis 5.12. nicht im Büro',
  'Absent(e) du bureau : Our offer',
  'Rép auto : Our offer',
  'Ausencia de la oficina: Our offer',
])('%j is the subject of an automatic reply', (subject) => {
  expect(isAutomaticSubject(subject)).toBe(true);
});

test.each([
  'Re: Automatic reply: Our offer',
  'AW: Abwesenheitsnotiz: Our offer',
  'Out of office lunch?',
  'Auto: Kaufvertrag',
  'Absence makes the heart grow fonder',
  'Automatic doors',
  'Re: Our offer',
])('%j is the subject of a person', (subject) => {
  expect(isAutomaticSubject(subject)).toBe(false);
});

test.each<[string, Record<string, string>, string?]>([
  ['Our offer', { 'X-Vacation': 'yes' }],
  ['Our offer', { 'X-Auto-Reply-From': 'bea@contact.example' }],
  ['Our offer', { 'X-POST-MessageClass': '9; Autoresponder' }],
  ['Our offer', {}, 'MAILER-DAEMON@mx.contact.example'],
  ['Automatická odpověď: Our offer', { 'X-Auto-Response-Suppress': 'All' }],
  ['자동 회신: Our offer', { 'X-Auto-Response-Suppress': 'All' }],
])('an email %j with %j is automatic', (Subject, headers, From = 'ada@contact.example') => {
  const Headers = Object.entries(headers).map(([Name, Value]) => ({ Name, Value }));
  expect(isAutomaticEmail(InboundEmail.parse({ MessageID: 'm', From, Subject, Headers }))).toBe(true);
});

test.each<[string, Record<string, string>]>([
  ['Automatic gate opener', { 'X-Auto-Response-Suppress': 'All' }],
  ['Re: Our offer', { 'X-Auto-Response-Suppress': 'All' }],
  ['Automatická odpověď: Our offer', {}],
])('an email %j with %j is from a person', (Subject, headers) => {
  const Headers = Object.entries(headers).map(([Name, Value]) => ({ Name, Value }));
  const email = InboundEmail.parse({ MessageID: 'm', From: 'ada@contact.example', Subject, Headers });
  expect(isAutomaticEmail(email)).toBe(false);
});

const result = (headers: [string, string][], receiver?: string) =>
  authenticationOf(
    InboundEmail.parse({
      MessageID: 'm',
      From: 'ada@contact.example',
      Headers: headers.map(([Name, Value]) => ({ Name, Value })),
    }),
    'ada@contact.example',
    receiver,
  )?.result;
const AR = 'Authentication-Results';

test.each<[string, [string, string][], string | undefined, string | undefined]>([
  ['nothing', [], undefined, undefined],
  ['a server that checked nothing', [[AR, 'mx.example; none']], undefined, undefined],
  [
    'dmarc=fail',
    [[AR, 'mx.example 1; dmarc=fail (p=none; x=y) header.from=contact.example']],
    undefined,
    'fail',
  ],
  ['dmarc=pass beside spf=fail', [[AR, 'mx.example; spf=fail; dmarc=pass']], undefined, 'pass'],
  [
    'a signature of its domain',
    [[AR, 'mx.example; spf=fail smtp.mailfrom=list.example; dkim=pass header.d=contact.example']],
    undefined,
    'pass',
  ],
  [
    'a signature of another domain',
    [[AR, 'mx.example; spf=fail smtp.mailfrom=ada@contact.example; dkim=pass header.d=evil.example']],
    undefined,
    'fail',
  ],
  [
    'a forwarder that is not allowed',
    [[AR, 'mx.example; spf=fail smtp.mailfrom=bounces@list.example; dkim=fail']],
    undefined,
    'none',
  ],
  ['spf=softfail', [[AR, 'mx.example; spf=softfail; dkim=none']], undefined, 'none'],
  [
    'two headers of one server',
    [
      [AR, 'mx.example; dkim=none'],
      [AR, 'mx.example; dmarc=fail'],
    ],
    undefined,
    'fail',
  ],
  [
    'results below the last hop',
    [
      ['Received', 'x'],
      [AR, 'mx.example; dmarc=pass'],
      ['Received', 'y'],
      [AR, 'mx.example; dmarc=fail'],
    ],
    undefined,
    'pass',
  ],
  [
    'only the topmost',
    [
      [AR, 'mx.example; dmarc=fail'],
      [AR, 'other.example; dmarc=pass'],
    ],
    undefined,
    'fail',
  ],
  [
    'results that the sender wrote',
    [
      [AR, 'evil.example; dmarc=fail'],
      [AR, 'mx.example; dmarc=pass'],
    ],
    'MX.example',
    'pass',
  ],
  ['none of the receiver', [[AR, 'evil.example; dmarc=fail']], 'mx.example', undefined],
  [
    'Received-SPF',
    [['Received-SPF', 'Fail (not allowed) envelope-from="ada@contact.example"']],
    undefined,
    'fail',
  ],
  [
    'Received-SPF about another',
    [['Received-SPF', 'Fail envelope-from=<x@list.example>']],
    undefined,
    'none',
  ],
  ['a verdict of a service', [['X-SES-DMARC-Verdict', 'FAIL']], undefined, 'fail'],
])('the authentication by %s', (_what, headers, receiver, expected) => {
  expect(result(headers, receiver)).toBe(expected);
});
