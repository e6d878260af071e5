import { describe, expect, it, test } from 'vitest';
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
  'AUTO: Ada is out of office. (Rückkehr am 07.12.2026)',
  'Auto: Out of office',
  'Out-of-Office: Our offer',
  'Out-Of-Office Reply: Our offer',
  'Ada Lovelace is out of the office',
  'I will be out of the office',
  'Parental leave Re: Our offer',
  'Thank you for your email (auto reply)',
  'Thank you for your message - automatic reply',
  'Automatische Rückantwort: Unser Angebot',
  'Automatische Abwesenheitsnotiz: Unser Angebot',
  'Urlaubsbenachrichtigung',
  'Urlaubsvertretung: Unser Angebot',
  'Auto-Antwort: Unser Angebot',
  'Automatisierte Antwort: Unser Angebot',
  'In Elternzeit Re: Unser Angebot',
  'Automatische Eingangsbestätigung',
  'Message automatique d’absence',
  'Je suis absent',
  'Je suis absente du 1 au 7 décembre',
  'Accusé de réception automatique',
  'Estoy fuera de la oficina',
  'Estoy de vacaciones',
  'Autorespuesta: Nuestra oferta',
  'Auto respuesta: Nuestra oferta',
  'Respuesta de ausencia: Nuestra oferta',
  'Mensaje de ausencia',
  'Contestación automática: Nuestra oferta',
  'Ausência do escritório: Nossa oferta',
  'Estou de férias',
  'Mensagem de ausência: Nossa oferta',
  'Auto-resposta: Nossa oferta',
  'Sono in ferie',
  'Avviso di assenza: La nostra offerta',
  'Messaggio di assenza',
  'Risposta di assenza: La nostra offerta',
  'Autorisposta: La nostra offerta',
  'Ik ben afwezig',
  'Ik ben met vakantie',
  'Met verlof: Ons aanbod',
  'Jeg er på ferie',
  'Fraværsbesked: Vores tilbud',
  'Ej på kontoret: Vårt erbjudande',
  'Jag är på semester',
  'Nieobecność w biurze: Nasza oferta',
  'Jestem na urlopie',
  'Jestem poza biurem',
  '【不在】お見積り',
  '不在のお知らせ',
  '自動回復：報價',
  '外出自动回复: 报价',
  '系统自动回复：报价',
  '假期自動回覆',
  'Автоответчик: Предложение',
  'Я в отпуске',
  'Automatsvar: Our offer',
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
  ['Our offer', { 'X-Away-Message': '1' }],
  ['Our offer', { 'X-AutoResponse': '1' }],
  ['Our offer', { 'X-Autoreply-Subject': 'Our offer' }],
  ['Our offer', { 'X-Cron-Env': '<SHELL=/bin/sh>' }],
  ['Our offer', { 'Return-Path': '<MAILER-DAEMON>' }],
  ['Our offer', { 'Return-Path': '< >' }],
  ['Our offer', { 'X-Mailer': 'vacation 1.2' }],
  ['Our offer', { 'Content-Type': 'multipart/report; report-type=disposition-notification' }],
  ['Our offer', {}, 'autoresponder@contact.example'],
])('an email %j with %j is automatic', (Subject, headers, From = 'ada@contact.example') => {
  const Headers = Object.entries(headers).map(([Name, Value]) => ({ Name, Value }));
  expect(isAutomaticEmail(InboundEmail.parse({ MessageID: 'm', From, Subject, Headers }))).toBe(true);
});

test.each<[string, Record<string, string>]>([
  ['Automatic gate opener', { 'X-Auto-Response-Suppress': 'All' }],
  ['Re: Our offer', { 'X-Auto-Response-Suppress': 'All' }],
  ['Automatická odpověď: Our offer', {}],
  ['Re: Our offer', { 'Auto-Submitted': '(a person) no' }],
  ['Urlaub: Termin', { 'In-Reply-To': '<a@b>' }],
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
  [
    'a server without a name, as Microsoft 365',
    [[AR, 'spf=pass (x) smtp.mailfrom=contact.example; dmarc=bestguesspass action=none']],
    undefined,
    'pass',
  ],
  [
    'no spaces around comments',
    [[AR, 'mx;dmarc=pass(p=none)header.from=contact.example']],
    undefined,
    'pass',
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
  [
    'a verdict of a service beside a named server',
    [['X-SES-DMARC-Verdict', 'PASS']],
    'mx.example',
    undefined,
  ],
])('the authentication by %s', (_what, headers, receiver, expected) => {
  expect(result(headers, receiver)).toBe(expected);
});

describe('results of Microsoft 365, which name no server', () => {
  const BY_MICROSOFT: [string, string][] = [
    [
      'Received',
      'from DM6PR1.namprd01.prod.outlook.com (2603:10b6::1) by BN8PR1.namprd01.prod.outlook.com with HTTPS; x',
    ],
    [
      'Received',
      'from DM3NAM02FT1.eop-nam02.prod.protection.outlook.com (2a01:111::1) by DM6PR1.NAMPRD01.PROD.OUTLOOK.COM with Microsoft SMTP Server; x',
    ],
  ];
  const PASS =
    'spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=contact.example; dkim=pass (signature was verified) header.d=contact.example;dmarc=pass action=none header.from=contact.example;compauth=pass reason=100';
  const FAIL =
    'spf=fail (sender IP is 192.0.2.1) smtp.mailfrom=contact.example; line.example; dkim=none (message not signed) header.d=none;line.example; dmarc=fail action=oreject header.from=contact.example;';
  const BY_SENDER: [string, string] = [
    'Received',
    'from a (192.0.2.1) by DM3.mail.protection.outlook.com; x',
  ];

  it.each<[string, [string, string][], string | undefined]>([
    ['on top', [...BY_MICROSOFT, [AR, PASS], BY_SENDER], 'pass'],
    ['of a forged sender', [...BY_MICROSOFT, [AR, FAIL], BY_SENDER], 'fail'],
    ['above those that the sender wrote', [...BY_MICROSOFT, [AR, FAIL], BY_SENDER, [AR, PASS]], 'fail'],
    ['directly above those that the sender wrote', [...BY_MICROSOFT, [AR, FAIL], [AR, PASS]], 'fail'],
    ['that were renamed', [...BY_MICROSOFT, ['Authentication-Results-Original', PASS]], undefined],
    [
      'below those of a named server',
      [
        [AR, 'evil.example; dmarc=pass'],
        [AR, PASS],
      ],
      undefined,
    ],
    [
      'that came from elsewhere',
      [...BY_MICROSOFT, ['Received', 'from evil by gateway.line.example; x'], [AR, PASS]],
      undefined,
    ],
    [
      'that came from a server with a name like theirs',
      [
        ['Received', 'from a by mx.outlook.com.evil.example; x'],
        [AR, PASS],
      ],
      undefined,
    ],
    [
      'that came from a server that calls itself theirs in a comment',
      [
        ['Received', 'from a (by mx.outlook.com) by mx.evil.example; x'],
        [AR, PASS],
      ],
      undefined,
    ],
    ['that are missing, beside a verdict of others', [['X-SES-DMARC-Verdict', 'PASS']], undefined],
  ])('%s', (_what, headers, expected) => {
    expect(result(headers, 'microsoft365')).toBe(expected);
    expect(result(headers, 'Microsoft365')).toBe(expected);
  });
});
