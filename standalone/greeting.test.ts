import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { greeting } from './greeting.ts';

test('the first start shows the demo workspace, its lines and both keys; later starts only name the file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'greeting-')), 'demo.json');
  const demo = {
    workspaceId: 'org_1',
    lineIds: ['line1', 'line2'],
    workspaceKey: 'svc_sk_1',
    agencyKey: 'svcagency_1',
  };
  writeFileSync(file, JSON.stringify(demo));
  const addresses = {
    apiUrl: 'http://localhost:3000',
    temporalUiUrl: 'http://localhost:8233',
    consoleUrl: 'http://localhost:3000/console#code=c',
  };
  const lively = { ...addresses, isLively: true };
  const first = greeting(lively, file, true);
  for (const shown of [...Object.values(demo).flat(), ...Object.values(addresses), file])
    expect(first).toContain(shown);
  const second = greeting(lively, file, false);
  expect(second).toContain(file);
  for (const key of [demo.workspaceKey, demo.agencyKey]) expect(second).not.toContain(key);
  expect(second).toContain(addresses.consoleUrl);
  expect(second).toContain('DEMO=empty');
  expect(greeting({ ...lively, isLively: false }, file, false)).not.toContain('DEMO=empty');
  expect(greeting({ ...lively, consoleUrl: null, isLively: false }, file, true)).not.toContain('Console');
});
