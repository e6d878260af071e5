import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { DOCS_CONTENT_SECURITY_POLICY, docsAsset, docsPage } from './docs.ts';

const links = [...docsPage().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);

test('the page links to this server only, and every asset exists with its type', () => {
  const assets = links.filter((url) => url.startsWith('/docs/assets/'));
  expect(assets).toHaveLength(5);
  expect(links.filter((url) => !url.startsWith('/'))).toEqual([]);
  for (const url of assets) {
    const asset = docsAsset(url.slice('/docs/assets/'.length));
    expect(asset?.contentType, url).toMatch(/^(text\/(css|javascript); charset=utf-8|image\/png)$/);
    expect(readFileSync(asset!.path).length, url).toBeGreaterThan(20);
  }
});

test('the page satisfies its policy: no inline script, style or handler', () => {
  expect(docsPage()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|javascript:/);
  expect(DOCS_CONTENT_SECURITY_POLICY).toContain("script-src 'self';");
  expect(DOCS_CONTENT_SECURITY_POLICY).not.toMatch(/https?:|unsafe-eval|\*/);
});

test("the page loads this server's OpenAPI document and sends it to no validator", () => {
  const script = readFileSync(docsAsset('docs.js')!.path, 'utf8');
  expect(script).toContain("url: '/openapi.json'");
  expect(script).toContain('validatorUrl: null');
});

describe('an unlisted asset', () => {
  it.each([
    '',
    '.',
    '..',
    'package.json',
    '../package.json',
    '../../../package.json',
    '..%2fpackage.json',
    '/etc/passwd',
    'swagger-ui.css/',
    'SWAGGER-UI.CSS',
    'constructor',
    '__proto__',
  ])('is not served: %j', (name) => {
    expect(docsAsset(name)).toBeNull();
  });
});
