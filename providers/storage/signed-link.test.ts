import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSigner } from '../signer.ts';
import { createSignedLinks } from './signed-link.ts';

const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const file = { workspaceId: 'org_1', attachmentId: 'a1', name: 'a photo/1.png' };
const now = new Date('2026-03-01T12:00:00Z');
const later = new Date('2026-03-02T12:00:00Z');

function read(link: string) {
  const url = new URL(link);
  const [, , workspaceId = '', attachmentId = '', name = ''] = url.pathname.split('/');
  const query = {
    expires: url.searchParams.get('expires') ?? '',
    signature: url.searchParams.get('signature') ?? '',
  };
  return { file: { workspaceId, attachmentId, name: decodeURIComponent(name) }, query };
}

describe('signed links', () => {
  const keys = key('a');
  const links = createSignedLinks('https://api.example', createSigner(keys));

  it('open the file they name until they expire', () => {
    const link = read(links.sign(file, later));
    expect(link.file).toEqual(file);
    expect(links.verify(link.file, link.query, now)).toBe(true);
    expect(links.verify(link.file, link.query, later)).toBe(false);
  });

  it.each([
    ['another workspace', { workspaceId: 'org_2' }, {}],
    ['another file', { attachmentId: 'a2' }, {}],
    ['another name', { name: 'other.png' }, {}],
    ['a later expiry', {}, { expires: '99999999999' }],
    ['an expiry that is no number', {}, { expires: 'NaN' }],
    ['no signature', {}, { signature: '' }],
  ])('do not open for %s', (_what, changedFile, changedQuery) => {
    const link = read(links.sign(file, later));
    expect(links.verify({ ...link.file, ...changedFile }, { ...link.query, ...changedQuery }, now)).toBe(
      false,
    );
  });

  it('are recognized in any spelling of the URL, and only on our own host', () => {
    const link = links.sign(file, later);
    const other = link
      .replace('https://api', 'HTTPS://API')
      .replace('photo', 'ph%6Fto')
      .replace('/attachments', '/x/../attachments');
    expect(links.open(link, now)).toEqual(file);
    expect(links.open(`${other}&more=1#top`, now)).toEqual(file);
    expect(links.open(link, new Date('2026-03-03T12:00:00Z'))).toBeNull();
    expect(links.openUnverified(link)).toEqual(file);
    for (const wrong of [
      links.raw(file),
      link.replace('api.example', 'other.example'),
      link.replace('a1', 'a2'),
      `${link}%`,
      'a link',
      '',
    ]) {
      expect(links.open(wrong, now), wrong).toBeNull();
    }
    for (const elsewhere of [
      'https://other.example/attachments/org_1/a1/x',
      'https://api.example/attachments/org_1/a1',
      'https://api.example/attachments/org_1/a1/%zz',
    ]) {
      expect(links.openUnverified(elsewhere)).toBeNull();
    }
  });

  it('stay valid while their key is in the key ring', () => {
    const link = read(links.sign(file, later));
    const rotated = createSignedLinks('https://api.example', createSigner(`${key('b')},${keys}`));
    const replaced = createSignedLinks('https://api.example', createSigner(key('b')));
    expect(rotated.verify(link.file, link.query, now)).toBe(true);
    expect(replaced.verify(link.file, link.query, now)).toBe(false);
  });
});
