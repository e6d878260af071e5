import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isByPerson, linkTargets, newLinkToken, withTokens, workspaceOfLink } from './message-link.ts';

const OURS = 'https://msg.example.com';
/** The text with the numbers of its links. */
const replaced = (text: string): string => {
  const targets = linkTargets(text, OURS);
  return withTokens(text, OURS, new Map(targets.map((url, index) => [url, String(index)])));
};

describe('links of a text', () => {
  it.each([
    ['See https://example.com/a?b=c#d now', 'See https://msg.example.com/l/0 now'],
    ['https://example.com.', 'https://msg.example.com/l/0.'],
    ['(https://example.com/a)…', '(https://msg.example.com/l/0)…'],
    ['“https://example.com/a”!', '“https://msg.example.com/l/0”!'],
    ['https://de.wikipedia.org/wiki/Ada_(Stadt) ok', 'https://msg.example.com/l/0 ok'],
    ['HTTP://EXAMPLE.com/A http://example.com/A', 'https://msg.example.com/l/0 https://msg.example.com/l/0'],
    ['https://a.example\nhttps://b.example', 'https://msg.example.com/l/0\nhttps://msg.example.com/l/1'],
    ['https://münchen.example/über', 'https://msg.example.com/l/0'],
  ])('are replaced: %j', (text, expected) => {
    expect(replaced(text)).toBe(expected);
  });

  it.each([
    `Unsubscribe: ${OURS}/unsubscribe/org_1.2.3`,
    `Join at ${OURS}/join/2345678, or ${OURS.toUpperCase()}/l/x`,
    'www.example.com, example.com, mailto:ada@example.com, ftp://example.com',
    'https://',
    '请看https://example.com/a谢谢',
    `https://example.com/${'a'.repeat(2000)}`,
  ])('stay as they are: %j', (text) => {
    expect(replaced(text)).toBe(text);
  });

  it('lead where they led before', () => {
    expect(linkTargets('https://Example.com, (https://example.com/b?c=ü&d=1)', OURS)).toEqual([
      'https://example.com/',
      'https://example.com/b?c=%C3%BC&d=1',
    ]);
  });

  it('are not looked for in an address that only begins like ours', () => {
    expect(linkTargets(`${OURS}.example.org/`, OURS)).toHaveLength(1);
  });

  it('are 20 at most', () => {
    const text = Array.from({ length: 25 }, (_, index) => `https://example.com/${index}`).join(' ');
    expect(replaced(text).match(/https:\/\/example\.com/g)).toHaveLength(5);
  });

  it('take time in proportion to any text', () => {
    fc.assert(
      fc.property(fc.constantFrom('https://', '.', ')', '(', 'https://a)', 'https://a.b/('), (part) => {
        expect(typeof replaced(part.repeat(10_000))).toBe('string');
      }),
    );
  });
});

describe('a token', () => {
  it('tells its workspace, is different each time, and ends in no hyphen', () => {
    const workspaceId = `org_${'0123456789ab'.repeat(2)}`;
    const tokens = Array.from({ length: 500 }, () => newLinkToken(workspaceId));
    expect(new Set(tokens).size).toBe(500);
    expect(new Set(tokens.map(workspaceOfLink))).toEqual(new Set([workspaceId]));
    expect(tokens.filter((token) => token.endsWith('-') || token.length !== 28)).toEqual([]);
  });

  it.each(['', 'x', '../../etc/passwd', 'a'.repeat(27), 'a'.repeat(29), `${'a'.repeat(27)}/`])(
    'is not %j',
    (token) => {
      expect(workspaceOfLink(token)).toBeNull();
    },
  );
});

const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
const ANDROID =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36';

describe('a request', () => {
  const isPerson = (headers: Record<string, string>, method = 'GET') =>
    isByPerson(method, (name) => headers[name] ?? '');

  it.each([
    IPHONE,
    ANDROID,
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:125.0) Gecko/20100101 Firefox/125.0',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/440.0]',
    'Mozilla/5.0 (Linux; Android 8.0.0; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/77.0.3865.92 Mobile Safari/537.36',
  ])('is by a person: %s', (agent) => {
    expect(isPerson({ 'user-agent': agent })).toBe(true);
  });

  it.each([
    // iMessage
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
    // Google Messages
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 (compatible; Google-PageRenderer Google (+https://developers.google.com/+/web/snippet/))',
    'WhatsApp/2.23.20.0 A',
    'TelegramBot (like TwitterBot)',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    'Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b',
    'Barracuda Sentinel (EE)',
    'Mozilla/5.0 (compatible; Proofpoint; +https://proofpoint.com)',
    'curl/8.5.0',
    'MobileSMS/1.0 CFNetwork/1498 Darwin/23',
    '',
  ])('is by no person: %s', (agent) => {
    expect(isPerson({ 'user-agent': agent })).toBe(false);
  });

  it.each([
    ['purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('is by no person with %s: %s', (name, value) => {
    expect(isPerson({ 'user-agent': ANDROID, [name]: value })).toBe(false);
  });

  it('that asks for the headers only is by no person', () => {
    expect(isPerson({ 'user-agent': IPHONE }, 'HEAD')).toBe(false);
  });
});
