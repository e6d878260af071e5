import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { DOCS_CONTENT_SECURITY_POLICY, docsAsset, docsPage } from './docs.ts';

const references = [...docsPage().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);

test('the page refers to this server only, and every asset exists with its type', () => {
  const assets = references.filter((url) => url.startsWith('/docs/assets/'));
  expect(assets).toHaveLength(5);
  expect(references.filter((url) => !url.startsWith('/'))).toEqual([]);
  for (const url of assets) {
    const asset = docsAsset(url.slice('/docs/assets/'.length));
    expect(asset?.contentType, url).toMatch(/^(text\/(css|javascript); charset=utf-8|image\/png)$/);
    expect(readFileSync(asset!.path).length, url).toBeGreaterThan(20);
  }
});

test('the page works under its policy: no inline script, style or handler', () => {
  expect(docsPage()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|javascript:/);
  expect(DOCS_CONTENT_SECURITY_POLICY).toContain("script-src 'self';");
  expect(DOCS_CONTENT_SECURITY_POLICY).not.toMatch(/https?:|unsafe-eval|\*/);
});

test('the reference reads the document of this server and sends it nowhere', () => {
  const script = readFileSync(docsAsset('docs.js')!.path, 'utf8');
  expect(script).toContain("url: '/openapi.json'");
  expect(script).toContain('validatorUrl: null');
});

describe('an asset that is not listed', () => {
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
  ])('%j is nothing', (name) => {
    expect(docsAsset(name)).toBeNull();
  });
});
